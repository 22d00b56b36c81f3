/// A record's version, as clients hold it: 13 digits of base 36 that mean nothing but that two are equal.
///
/// Records that earlier versions of the server wrote have tags of another form, which stay as they are.
package struct ChangeTag: Hashable, Sendable {
    /// Another one for each commit. Where others must not count commits by it, a keyed function gives it.
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package var text: String { String(decoding: utf8, as: UTF8.self) }

    /// ``text`` in UTF-8.
    package var utf8: [UInt8] {
        // Made for every save: the standard library's conversion takes a microsecond.
        [UInt8](unsafeUninitializedCapacity: Self.textBytes) { room, count in
            var rest = number
            var place = Self.textBytes
            while place > 0 {
                place -= 1
                let digit = UInt8(truncatingIfNeeded: rest % 36)
                room[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                rest /= 36
            }
            count = Self.textBytes
        }
    }

    /// As many digits as the largest number has.
    private static let textBytes = 13
}
