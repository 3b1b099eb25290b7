"""Admission: token → declaration → execution → phase → binding → method → limits, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.caller import Caller, failure
from tests.support.composition import probe, select
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe(
            "caller",
            provides=["probe.caller@1"],
            requires=[
                "probe.callee@1",
                "probe.absent@1?",
                "probe.majors@1",
                "probe.majors@2",
                "probe.streams@1",
            ],
        ),
        probe("torn", requires=["probe.twice@1?"]),
        probe("late", requires=["probe.callee@7?"]),
        probe(
            "callee",
            provides=["probe.callee@1", "probe.twice@1", "probe.majors@1", "probe.majors@2.5.1"],
            streams="probe.streams@1",
        ),
        probe("other", provides=["probe.twice@1", "probe.other@1"], methods=["echo"]),
        probe("borrower", requires=["probe.twice@1"]),
        probe("off", provides=["probe.off@1"], enabled=False),
        services=[select("probe.twice@1", "callee", consumer="borrower")],
    ) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def caller(mesh: Mesh) -> Caller:
    """The instance of the module `caller`, whose token a test holds in its hands."""
    return await mesh.instance("caller", "probe.caller@1")


# --- token ---


async def test_a_call_without_a_token_is_unauthenticated(mesh: Mesh) -> None:
    error = await failure(mesh.stranger().invoke("probe.callee@1", "echo"))
    assert (error.code, error.domain, error.outcome) == ("unauthenticated", "wuu.mesh", "not_dispatched")


async def test_a_forged_token_is_unauthenticated(mesh: Mesh) -> None:
    error = await failure(mesh.stranger("A" * 43).invoke("probe.callee@1", "echo"))
    assert error.code == "unauthenticated"


async def test_the_socket_of_instances_does_not_know_the_operator(mesh: Mesh) -> None:
    error = await failure(mesh.stranger().invoke("probe.callee@1", "echo", as_module="caller"))
    assert error.code == "unauthenticated"


async def test_the_token_is_looked_at_before_the_service(mesh: Mesh) -> None:
    error = await failure(mesh.stranger("forged").invoke("no service", "echo"))
    assert error.code == "unauthenticated"


# --- declaration ---


async def test_a_service_that_was_not_declared_is_not_authorized(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.other@1", "echo"))
    assert (error.code, error.outcome) == ("service_not_authorized", "not_dispatched")
    assert "caller does not declare probe.other@1" in error.message


async def test_a_service_that_does_not_exist_is_not_authorized_either(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.nowhere@1", "echo"))
    assert error.code == "service_not_authorized"


async def test_another_major_than_the_declared_one_is_not_authorized(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.callee@2", "echo"))
    assert error.code == "service_not_authorized"


async def test_the_declaration_is_looked_at_before_the_execution(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.other@1", "echo", execution="made-up"))
    assert error.code == "service_not_authorized"


@pytest.mark.parametrize("name", ["", "Probe.Callee@1", "callee@1", "probe.callee@0", "probe.callee@x"])
async def test_what_is_no_service_name_is_an_invalid_request(caller: Caller, name: str) -> None:
    error = await failure(caller.invoke(name, "echo"))
    assert (error.code, error.outcome) == ("invalid_request", "not_dispatched")


async def test_without_a_major_the_declared_one_is_meant(caller: Caller) -> None:
    assert await caller.invoke("probe.streams", "x", path="/probe.v1.Streams/Unary") is None


async def test_without_a_major_two_declared_ones_are_an_invalid_request(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.majors", "echo"))
    assert error.code == "invalid_request"
    assert "probe.majors@1, probe.majors@2" in error.message


async def test_a_module_cannot_address_another_directly(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.other@1", "echo", module="other"))
    assert error.code == "service_not_authorized"
    # Where the service is declared, the address is not looked at: the binding decides.
    context = await caller.invoke("probe.callee@1", "context", module="other")
    assert context["audience"].startswith("callee@")


# --- execution ---


async def test_a_made_up_execution_is_not_found(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.callee@1", "echo", execution="made-up"))
    assert (error.code, error.outcome) == ("execution_not_found", "not_dispatched")


async def test_a_dead_execution_is_not_found(mesh: Mesh, caller: Caller) -> None:
    context = await mesh.call("probe.caller@1", "context")
    error = await failure(caller.invoke("probe.callee@1", "echo", execution=context["execution"]))
    assert error.code == "execution_not_found"


async def test_the_execution_of_another_owner_is_not_found(mesh: Mesh) -> None:
    # `caller` calls `callee` in an execution of callee's, which it learns from a call to it.
    asked = {"service": "probe.callee@1", "method": "context"}
    inner = await mesh.call("probe.caller@1", "call", asked)
    stolen = {**asked, "execution": inner["result"]["execution"]}
    answer = await mesh.call("probe.caller@1", "call", stolen)
    assert answer["error"]["code"] == "execution_not_found"


async def test_a_live_execution_is_of_no_use_to_anyone_but_its_owner(mesh: Mesh, caller: Caller) -> None:
    async with asyncio.TaskGroup() as group:
        hanging = group.create_task(mesh.call("probe.callee@1", "hang", {"key": "live"}))
        (execution,) = await mesh.call("probe.callee@1", "hanging", {"key": "live"})
        error = await failure(caller.invoke("probe.callee@1", "echo", execution=execution))
        assert error.code == "execution_not_found"
        hanging.cancel()


async def test_the_execution_is_looked_at_before_the_binding(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.absent@1", "echo", execution="made-up"))
    assert error.code == "execution_not_found"


# --- binding ---


async def test_an_optional_service_without_a_provider_is_absent(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.absent@1", "echo"))
    assert (error.code, error.outcome) == ("service_optional_absent", "not_dispatched")


@pytest.mark.parametrize(
    ("module", "service", "code", "names"),
    [
        ("torn", "probe.twice@1", "service_ambiguous", "callee and other"),
        ("late", "probe.callee@7", "service_version_mismatch", "probe.callee@1"),
    ],
)
async def test_a_wrong_choice_blocks_who_could_do_without_and_is_what_its_calls_hear(
    mesh: Mesh, module: str, service: str, code: str, names: str
) -> None:
    row = mesh.module(module)
    assert (row["state"], row["error"]["code"]) == ("blocked", code)
    error = await failure(mesh.call(service, "echo", as_module=module))
    assert (error.code, error.outcome) == (code, "not_dispatched")
    assert names in error.message


async def test_the_binding_is_looked_at_before_the_method(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.absent@1", "no-such-method"))
    assert error.code == "service_optional_absent"


# --- method ---


async def test_a_method_that_is_not_declared_is_not_found_and_the_others_are_listed(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.other@1", "context"))
    assert (error.code, error.outcome) == ("method_not_found", "not_dispatched")
    assert error.message == "other declares no context in probe.other@1; it has echo"


async def test_a_dynamic_call_names_its_method(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.callee@1", ""))
    assert error.code == "invalid_request"
    assert "wuu-method" in error.message


async def test_a_typed_service_has_no_dynamic_methods(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.streams@1", "unary"))
    assert error.code == "method_not_found"
    assert "typed:probe.v1.Streams" in error.message


@pytest.mark.parametrize("path", ["/probe.v1.Streams/Nothing", "/probe.v2.Streams/Unary", "/no/Where"])
async def test_a_path_that_the_service_does_not_have_is_not_found(caller: Caller, path: str) -> None:
    error = await failure(caller.invoke("probe.streams@1", "", path=path))
    assert (error.code, error.outcome) == ("method_not_found", "not_dispatched")
    assert error.message.endswith("it has unary, gather, scatter, both, watch")


async def test_a_path_of_one_service_does_not_lead_into_another(caller: Caller) -> None:
    error = await failure(caller.invoke("probe.callee@1", "echo", path="/probe.v1.Streams/Unary"))
    assert error.code == "method_not_found"


async def test_the_lifecycle_of_a_provider_is_out_of_reach(caller: Caller, mesh: Mesh) -> None:
    for who in (caller, mesh.operator):
        error = await failure(
            who.invoke("probe.callee@1", "shutdown", path="/wuu.mesh.v1.Lifecycle/Shutdown")
        )
        assert error.code == "method_not_found"


# --- the operator ---


async def test_the_operator_calls_what_is_selected_for_everyone(mesh: Mesh) -> None:
    context = await mesh.call("probe.callee@1", "context")
    assert (context["caller"], context["parent"]) == ("wuu.operator", "")
    error = await failure(mesh.call("probe.twice@1", "echo"))
    assert error.code == "service_ambiguous"


async def test_the_operator_borrows_the_bindings_of_a_module_and_never_its_identity(mesh: Mesh) -> None:
    context = await mesh.call("probe.twice@1", "context", as_module="borrower")
    assert context["audience"].startswith("callee@")
    assert context["caller"] == "wuu.operator"


async def test_a_borrowed_module_must_have_declared_the_service(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.callee@1", "echo", as_module="borrower"))
    assert error.code == "service_not_authorized"


async def test_a_borrowed_module_must_exist(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.callee@1", "echo", as_module="nobody"))
    assert (error.code, error.outcome) == ("invalid_request", "not_dispatched")
    assert "nobody" in error.message


async def test_the_operator_addresses_a_module_directly_whoever_is_selected(mesh: Mesh) -> None:
    assert await mesh.call("probe.twice@1", "echo", 1, module="other") == 1
    context = await mesh.call("probe.twice@1", "context", module="callee")
    assert context["audience"].startswith("callee@")


async def test_a_module_that_is_addressed_directly_must_provide_the_service(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.other@1", "echo", module="callee"))
    assert (error.code, error.outcome) == ("service_not_found", "not_dispatched")


async def test_a_disabled_module_is_revoked(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.off@1", "echo", module="off"))
    assert (error.code, error.outcome) == ("module_revoked", "not_dispatched")
    assert mesh.module("off")["state"] == "disabled"


async def test_a_service_that_nobody_provides_is_not_found_and_the_nearest_is_named(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.stream@1", "echo"))
    assert (error.code, error.outcome) == ("service_not_found", "not_dispatched")
    assert "did you mean 'probe.streams'?" in error.message


async def test_two_majors_of_a_service_are_two_services(mesh: Mesh) -> None:
    for major in (1, 2):
        service = f"probe.majors@{major}"
        assert (await mesh.call(service, "context"))["service"] == service
    error = await failure(mesh.call("probe.majors", "context"))
    assert (error.code, error.outcome) == ("service_ambiguous", "not_dispatched")
    assert "probe.majors@1 or probe.majors@2" in error.message


async def test_a_major_that_nobody_provides_is_a_version_mismatch_for_the_operator(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.callee@7", "echo"))
    assert error.code == "service_version_mismatch"
