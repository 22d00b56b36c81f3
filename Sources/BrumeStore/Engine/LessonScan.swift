package import BrumeModel

/// What the records of a type tell a schema that does not know them, found step by step: data from before schemas were
/// kept. The first record that has a field decides its type.
package struct LessonScan {
    package let type: String
    package internal(set) var lesson = SchemaLesson()
    /// Where the next step goes on.
    var zone = 0
    var slot = 0

    package init(type: String) {
        self.type = type
    }
}
