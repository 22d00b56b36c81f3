internal import BrumeModel

/// A schema file of the command line.
enum SchemaText {
    /// Reads it; an error names the file, line and column.
    static func read(_ path: String) throws(CommandError) -> Schema {
        let bytes = Array(try FileBytes.read(path))
        do throws(SchemaSyntaxError) {
            return try SchemaParser.parse(bytes)
        } catch {
            throw CommandError(.failed, "\(path):\(error.line):\(error.column): \(error.problem)")
        }
    }
}
