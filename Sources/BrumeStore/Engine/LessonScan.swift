package import BrumeModel

/// A scan, step by step, of what the records of a type teach a schema that does not know them: data from before schemas
/// were kept. The first record that has a field decides its type.
package struct LessonScan {
    package let type: String
    package internal(set) var lesson = SchemaLesson()
    /// Where the next step continues.
    var zone = 0
    var slot = 0

    package init(type: String) {
        self.type = type
    }
}
