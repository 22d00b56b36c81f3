/// The elements of a list in a stored record, read in place and in order.
package struct StoredList {
    /// The kind of the elements: the number of the field that holds a single one in `brume.v1.Value`; 8 for a list
    /// without elements.
    private let elementKind: UInt8
    private var reader: WireReader
    /// The rest of a run of packed numbers.
    private var packed: WireReader?

    /// - Parameter kind: The number of `brume.v1.Value`'s field.
    package init(kind: UInt8, _ content: UnsafeRawBufferPointer) {
        elementKind = kind - 7
        reader = WireReader(content)
    }

    /// The next element. Returns nil at the end, and where the bytes are not a list.
    package mutating func next() -> StoredScalar? {
        while true {
            if packed != nil {
                switch elementKind {
                case 2:
                    if let raw = try? packed?.nextVarint() { return .int64(StoredScalar.signed(raw)) }
                case 3:
                    if let raw = try? packed?.nextFixed64() { return .double(Double(bitPattern: raw)) }
                default:
                    if let raw = try? packed?.nextFixed64() { return .date(Double(bitPattern: raw)) }
                }
                packed = nil
            }
            guard let element = try? reader.next() else { return nil }
            guard element.number == 1 else { continue }
            switch elementKind {
            case 2, 3, 5:
                if element.isLengthDelimited {
                    packed = WireReader(element.content)
                    continue
                }
            default: break
            }
            guard elementKind < 8 else { return nil }
            return StoredScalar(kind: elementKind, element)
        }
    }
}
