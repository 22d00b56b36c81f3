/// The types of a CSV file's columns, by all of its rows: of those that the header gives none.
struct ColumnTypes: Equatable, Sendable {
    /// By the column's name; those that are text are absent.
    private(set) var types: [String: String] = [:]
    /// What a person wants to know of them, in the header's order.
    private(set) var sentences: [String] = []

    /// Everything is text but what the header says.
    init() {}

    /// Reads all rows. Those that can't be read are left out, as they are when the file is imported.
    ///
    /// - Parameter nameField: Stays text: it names the records.
    init(_ bytes: UnsafeRawBufferPointer, nameField: String?) throws(RowError) {
        var reader = try CSVReader(bytes)
        let columns = reader.header
        var guesses = [String: ColumnGuess](
            uniqueKeysWithValues: columns.filter { $0 != nameField && FieldArgument.keyAndType($0).type == nil }
                .map { ($0, ColumnGuess()) })
        while !guesses.isEmpty {
            do throws(RowError) {
                guard let row = try reader.next() else { break }
                for (column, value) in row.fields {
                    guard case .string(let text) = value else { continue }
                    guesses[column]?.add(text)
                }
            } catch {
                continue
            }
        }
        for column in columns {
            guard let guess = guesses[column] else { continue }
            switch (guess.kind, guess.doubt) {
            case (.int64, _): take(column, "int64")
            case (.double, _): take(column, "double")
            case (.date, _): take(column, "date")
            case (.bool, _): take(column, "bool", ", a 64-bit integer that is 1 for true")
            case (_, .leadingZero): sentences.append("\(column): text, because a value begins with zeros")
            case (_, .tooLarge):
                sentences.append("\(column): text, because a number has more digits than a field keeps")
            case (.text, _), (.nothing, _): break
            }
        }
    }

    private mutating func take(_ column: String, _ type: String, _ remark: String = "") {
        types[column] = type
        sentences.append("\(column): \(type)\(remark)")
    }
}
