/// `key=text`, `key:type=value`, `key=@path` for a file, or `key=` for a key to remove.
struct FieldArgument: Equatable, Sendable {
    let key: String
    /// The value; nil removes the key.
    let value: TypedValue?

    init(_ word: String) throws(ValueError) {
        guard let equals = word.firstIndex(of: "=") else {
            throw ValueError(message: "\"\(word)\" is no field; write key=text or key:type=value")
        }
        let (key, type) = Self.keyAndType(String(word[..<equals]))
        let text = String(word[word.index(after: equals)...])
        self.key = key
        if text.isEmpty, type == nil {
            value = nil
            return
        }
        if type == nil, text.hasPrefix("@") {
            do {
                value = try TypedValue.existing(file: String(text.dropFirst()))
            } catch {
                throw ValueError(message: "\(key): \(error.message); a text that begins with @ is \(key):text=\(text)")
            }
            return
        }
        do {
            value = try TypedValue(text: text, type: type ?? "text")
        } catch {
            throw ValueError(message: "\(key): \(error.message)")
        }
    }

    /// `population:int64` is a key and a type; also the form of a CSV file's column names.
    static func keyAndType(_ text: String) -> (key: String, type: String?) {
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
