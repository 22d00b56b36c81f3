internal import BrumeModel

/// Fields that `brume records save` is to encrypt. Their values are in no error.
enum EncryptedArgument {
    static let note = """
        An encrypted value opens on the devices of the account alone, and of those with whom it is shared (brume \
        key). --encrypted takes what a field takes, but references and assets. What stands in a command line can be \
        read by every user of the machine while it runs, and in the shell's history: --encrypted-file takes a JSON \
        object from a file or the standard input.
        """

    static let options = [
        OptionDefinition(
            "encrypted", "KEY=VALUE", "a field to encrypt", repeats: true, holdsCommas: true),
        OptionDefinition("encrypted-file", "FILE", "fields to encrypt as a JSON object; -: the standard input"),
    ]

    /// One field, written as those that are not encrypted are.
    static func field(_ word: String) throws(ValueError) -> (key: String, value: TypedValue?) {
        guard let equals = word.firstIndex(of: "=") else {
            throw ValueError(message: "--encrypted takes key=text or key:type=value")
        }
        let (key, type) = FieldArgument.keyAndType(String(word[..<equals]))
        let text = word[word.index(after: equals)...]
        if type == nil, text.hasPrefix("@") {
            throw ValueError(
                message:
                    "\(key): the files of a zone are encrypted by what its keys say, and not by --encrypted; a text "
                    + "that begins with @ is written \(key):text=@…"
            )
        }
        if let type { try check(type: type, key) }
        return (key, try value(key) { () throws(ValueError) in try FieldArgument(word).value })
    }

    /// Fields of a JSON object.
    static func fields(json: JSONValue) throws(ValueError) -> [(key: String, value: TypedValue?)] {
        guard case .object(let members) = json else {
            throw ValueError(message: "--encrypted-file takes a JSON object")
        }
        return try members.map { (key, json) throws(ValueError) in
            (key, try value(key) { () throws(ValueError) in json == .null ? nil : try TypedValue(json: json) })
        }
    }

    /// Refuses a type that no value has, and those that are not encrypted.
    private static func check(type: String, _ key: String) throws(ValueError) {
        if type == "reference" || type == "asset" { throw notEncrypted(key) }
        do throws(ValueError) {
            _ = try TypedValue(text: "", type: type)
        } catch  where error.message.hasPrefix("there is no type") || type == "encrypted" {
            throw ValueError(message: "\(key): \(error.message)")
        } catch {}
    }

    private static func value(
        _ key: String, _ read: () throws(ValueError) -> TypedValue?
    ) throws(ValueError) -> TypedValue? {
        let value: TypedValue?
        do throws(ValueError) {
            value = try read()
        } catch {
            throw ValueError(message: "\(key): its value is none of its type; brume records save --help shows each")
        }
        if let value, !value.isEncryptable { throw notEncrypted(key) }
        return value
    }

    private static func notEncrypted(_ key: String) -> ValueError {
        ValueError(message: "\(key): references and assets can't be encrypted; set it as a field that is not")
    }
}

extension TypedValue {
    /// Whether a device can encrypt it.
    fileprivate var isEncryptable: Bool {
        switch self {
        case .reference, .file, .asset: false
        case .list(let elements): elements.allSatisfy(\.isEncryptable)
        default: true
        }
    }
}
