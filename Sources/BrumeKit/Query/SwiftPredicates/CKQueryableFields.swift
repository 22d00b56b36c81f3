public import Foundation

/// A type whose properties stand for the fields of a record type, so that a Swift predicate can name them.
///
/// ```swift
/// struct Note: CKQueryableFields {
///     var title: String
///     var pages: Int
///     static func fieldKey(for keyPath: PartialKeyPath<Note>) -> CKRecord.FieldKey? {
///         switch keyPath {
///         case \.title: "title"
///         case \.pages: "pages"
///         default: nil
///         }
///     }
/// }
/// let predicate = try NSPredicate(#Predicate<Note> { $0.title.starts(with: "Brume") && $0.pages > 10 })
/// ```
///
/// `NSSortDescriptor(keyPath: \Note.title, ascending: true)` works too. Goes beyond CloudKit.
public protocol CKQueryableFields {
    /// The key of the field that a property stands for, or one of ``CKRecord/SystemFieldKey``; nil when it stands for
    /// none.
    static func fieldKey(for keyPath: PartialKeyPath<Self>) -> CKRecord.FieldKey?
}

extension NSPredicateFactory {
    /// The predicate that a Swift predicate is.
    ///
    /// Understood are `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!`, properties of type `Bool`,
    /// `list.contains(element)` in both directions, `list.contains { $0 > value }` with one comparison, ranges that
    /// contain a property, `starts(with:)` and `!` behind an optional. A record without the field matches no
    /// comparison, and no negated one either.
    ///
    /// Throws `invalidArguments` with the name of any other expression, and for properties that stand for no field.
    public init<Root: CKQueryableFields>(_ predicate: Foundation.Predicate<Root>) throws(CKError) {
        self.init(try SwiftPredicateReader.read(predicate))
    }
}
