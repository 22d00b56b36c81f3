internal import BrumeRecord

/// Changes messages in encoded ones, and leaves all else as it was, byte for byte: a lie is about one thing.
enum WireEdit {
    enum Change {
        case kept
        case left
        case replaced([UInt8])
    }

    /// The message with the elements of a number changed. Bytes that are no message stay as they are.
    static func replacing(
        _ message: UnsafeRawBufferPointer, number: UInt64, _ change: (UnsafeRawBufferPointer) -> Change
    ) -> [UInt8] {
        var (reader, output) = (WireReader(message), [UInt8]())
        output.reserveCapacity(message.count)
        do throws(WireReader.Damage) {
            while let element = try reader.next() {
                guard element.number == number, element.isLengthDelimited else {
                    output.append(contentsOf: message[element.range])
                    continue
                }
                switch change(element.content) {
                case .kept: output.append(contentsOf: message[element.range])
                case .left: break
                case .replaced(let content): append(content, number: number, to: &output)
                }
            }
            return output
        } catch {
            return Array(message)
        }
    }

    /// The message with those changed that lie deeper: the elements of the first number hold those of the second, and
    /// so on.
    ///
    /// - Parameter change: Gets the place of the element on each level among those of its number, and the element.
    static func replacing(
        _ message: UnsafeRawBufferPointer, path: [UInt64], places: [Int] = [],
        _ change: ([Int], UnsafeRawBufferPointer) -> Change
    ) -> [UInt8] {
        guard let number = path.first else { return Array(message) }
        var place = -1
        return replacing(message, number: number) { content in
            place += 1
            if path.count == 1 { return change(places + [place], content) }
            return .replaced(replacing(content, path: Array(path.dropFirst()), places: places + [place], change))
        }
    }

    /// The message without the elements of a number, whatever they are.
    static func removing(_ number: UInt64, from message: UnsafeRawBufferPointer) -> [UInt8] {
        var (reader, output) = (WireReader(message), [UInt8]())
        while let element = try? reader.next() {
            if element.number != number { output.append(contentsOf: message[element.range]) }
        }
        return output
    }

    /// Appends an element of a number below 16.
    static func append(_ content: [UInt8], number: UInt64, to output: inout [UInt8]) {
        output.append(UInt8(number << 3 | 2))
        var rest = content.count
        while rest >= 0x80 {
            output.append(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        output.append(UInt8(rest))
        output.append(contentsOf: content)
    }
}
