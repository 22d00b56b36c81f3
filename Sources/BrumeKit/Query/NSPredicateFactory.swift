/// Which records a query or a subscription wants, as text: `NSPredicate(format:)`.
///
/// ```swift
/// NSPredicate(format: "title BEGINSWITH %@ AND pages > %d", "Brume", 10)
/// NSPredicate(format: "%K IN %@", "tags", ["a", "b"])
/// NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", here, 500.0)
/// NSPredicate(format: "self CONTAINS %@", "some words")
/// ```
///
/// Initialisers of a protocol may choose the object, so the text makes comparisons and compounds, as on Apple's
/// systems. Only `NSPredicate` conforms. What a server can't do is known when the predicate is used: the query then
/// fails with `invalidArguments` and a sentence that says what to write instead.
///
/// Predicates go into keyed archives, with secure coding, as their text. Read one as `NSPredicate`, whatever class it
/// is:
///
/// ```swift
/// let data = try NSKeyedArchiver.archivedData(withRootObject: predicate, requiringSecureCoding: true)
/// let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPredicate.self, from: data)
/// ```
///
/// Differs from Foundation: what is made of text filters no objects (`evaluate(with:)`); arithmetic and `SUBQUERY` are
/// no part of the text; what `NSCompoundPredicate`'s own initialisers make is read as `NSCompoundPredicate`, since an
/// archive on Linux names one class exactly; archives of Apple's systems are others.
public protocol NSPredicateFactory {}

extension NSPredicateFactory {
    /// Reads a predicate's text.
    ///
    /// Placeholders take the arguments in their order: `%@` a value, `%K` a key as a `String`, `%d` (`%i`, `%u`, `%ld`,
    /// `%llu` …) an integer or `Bool`, `%f` a `Double`, `Float` or `CGFloat`. `%@` takes whatever a record can hold,
    /// Swift's own types and Foundation's, `CKRecord.ID` and `CKRecord` beside references, and arrays and sets of them.
    /// There are no placeholders within quotation marks.
    ///
    /// Text that breaks the grammar, and arguments that don't suit it, are mistakes in the program: they trap with the
    /// place in the text. For text from elsewhere use ``init(validatingFormat:argumentArray:)``.
    public init(format: String, _ arguments: Any?...) {
        self.init(trusted: format, arguments: arguments)
    }

    /// Reads a predicate's text with its arguments in an array. See ``init(format:_:)``.
    public init(format: String, argumentArray arguments: [Any]?) {
        self.init(trusted: format, arguments: arguments ?? [])
    }

    /// Reads a predicate's text with its arguments in a C list, as a function gets them that hands its own `CVarArg`s
    /// on with `withVaList(_:_:)`. See ``init(format:_:)``.
    ///
    /// The list says nothing of its arguments: one that does not suit its placeholder, or is missing, reads memory that
    /// is none, as on Apple's systems. Where there is a choice use an array.
    public init(format: String, arguments list: CVaListPointer) {
        do throws(PredicateFormatError) {
            self.init(trusted: format, arguments: try PredicateArguments.values(of: format, from: list))
        } catch {
            preconditionFailure("NSPredicate(format:): \(error.description)")
        }
    }

    /// Reads a predicate's text that comes from outside of the program.
    ///
    /// Throws `invalidArguments` with the place in the text and what was expected there. Differs from Foundation, which
    /// has no such initialiser.
    public init(validatingFormat format: String, argumentArray arguments: [Any]? = nil) throws(CKError) {
        do throws(PredicateFormatError) {
            self.init(try PredicateParser.predicate(format, arguments: arguments ?? []))
        } catch {
            throw CKError(.invalidArguments, message: error.description)
        }
    }

    private init(trusted format: String, arguments: [Any?]) {
        do throws(PredicateFormatError) {
            self.init(try PredicateParser.predicate(format, arguments: arguments))
        } catch {
            preconditionFailure("NSPredicate(format:): \(error.description)")
        }
    }

    init(_ node: PredicateNode) {
        guard let predicate = NSPredicate.make(node) as? Self else {
            preconditionFailure(
                "\(Self.self)(format:) was given the text of another kind of predicate; use NSPredicate(format:)")
        }
        self = predicate
    }
}
