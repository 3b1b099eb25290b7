from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Json(_message.Message):
    __slots__ = ("utf8",)
    UTF8_FIELD_NUMBER: _ClassVar[int]
    utf8: bytes
    def __init__(self, utf8: _Optional[bytes] = ...) -> None: ...
