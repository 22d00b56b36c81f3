internal import BrumeModel
internal import BrumeRecord

// Typed access to a field for readers of requests, in place. Each member throws when the field is not encoded as every
// encoder writes it: the request is then read by unpacking its message, which reports what is wrong.

extension WireReader.Element {
    func message() throws(WireReader.Damage) -> UnsafeRawBufferPointer {
        guard isLengthDelimited else { throw WireReader.Damage() }
        return content
    }

    func text() throws(WireReader.Damage) -> String {
        guard let text = String(checkedUTF8: try message().assumingMemoryBound(to: UInt8.self)) else {
            throw WireReader.Damage()
        }
        return text
    }

    func integer() throws(WireReader.Damage) -> UInt64 {
        guard isVarint else { throw WireReader.Damage() }
        return scalar
    }

    func flag() throws(WireReader.Damage) -> Bool {
        let number = try integer()
        guard number <= 1 else { throw WireReader.Damage() }
        return number == 1
    }

    /// The database scope, which has to be one that is served.
    func scope() throws(WireReader.Damage) -> DatabaseScope {
        switch try integer() {
        case 1: return .public
        case 2: return .private
        default: throw WireReader.Damage()
        }
    }
}

extension ZoneID {
    /// Reads a zone; its name and owner have to be usable.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(WireReader.Damage) -> ZoneID {
        var id = ZoneID(name: "", owner: "")
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            guard element.number > last else { throw WireReader.Damage() }
            last = element.number
            switch element.number {
            case 1: id.name = try element.text()
            case 2: id.owner = try element.text()
            default: throw WireReader.Damage()
            }
        }
        guard (try? ZoneCoder.checked(id)) != nil else { throw WireReader.Damage() }
        return id
    }
}
