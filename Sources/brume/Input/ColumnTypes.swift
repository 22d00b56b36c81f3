/// The types of a CSV file's columns, guessed from all of its rows, for columns whose header names no type.
struct ColumnTypes: Equatable, Sendable {
    /// The types by column name; text columns are absent.
    private(set) var types: [String: String] = [:]
    /// Sentences about the guesses for the user, in the header's order.
    private(set) var sentences: [String] = []

    /// Makes every column text, unless its header names a type.
    init() {}

    /// Reads all rows. Rows that can't be read are left out, as in the import itself.
    ///
    /// - Parameter nameField: The column with the records' names, which stays text.
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
