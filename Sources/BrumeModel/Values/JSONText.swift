/// Texts of JSON (RFC 8259), for what is written by hand.
package enum JSONText {
    /// A string with its quotes. What ends it is escaped, and what a terminal takes for a command.
    package static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar == "\"" || scalar == "\\" {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
