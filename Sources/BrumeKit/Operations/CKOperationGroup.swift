public import Foundation

/// Operations that belong together for whoever looks at the server's log, "first launch" for example: each request of
/// theirs carries the group's name.
///
/// A group has no effect on what the operations do. May be used from several threads.
public class CKOperationGroup: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the id is immutable, all else is behind the lock.

    /// Powers of ten of an expected amount of data. Raw values are CloudKit's.
    public enum TransferSize: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Less than a megabyte.
        case kilobytes = 1
        /// 1 to 10 megabytes.
        case megabytes = 2
        /// 10 to 100 megabytes.
        case tensOfMegabytes = 3
        /// 100 megabytes to a gigabyte.
        case hundredsOfMegabytes = 4
        /// 1 to 10 gigabytes.
        case gigabytes = 5
        /// 10 to 100 gigabytes.
        case tensOfGigabytes = 6
        /// More.
        case hundredsOfGigabytes = 7
    }

    private struct Values {
        var configuration = CKOperationConfiguration()
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
    }

    private let values: Guarded<Values>

    /// The group's identity, a new one for each that is made.
    public let operationGroupID: String

    /// A new group.
    public override convenience init() {
        self.init(operationGroupID: UUID().uuidString, values: Values())
    }

    private init(operationGroupID: String, values: Values) {
        self.operationGroupID = operationGroupID
        self.values = Guarded(values)
    }

    /// What the group's operations use where their own configurations say nothing. Set to nil, it is an empty one.
    /// Copied when it is set.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { values.configuration }
        set {
            values.configuration = newValue.map { CKOperationConfiguration($0.settings) } ?? CKOperationConfiguration()
        }
    }

    /// What the operations are for, for the server's log, which gets 255 bytes of it; nil: the log gets the id.
    public var name: String? {
        get { values.name }
        set { values.name = newValue }
    }

    /// A number of the app's own, the pictures to be sent for example. Kept here.
    public var quantity: Int {
        get { values.quantity }
        set { values.quantity = newValue }
    }

    /// How much the operations will send. Kept here.
    public var expectedSendSize: TransferSize {
        get { values.expectedSendSize }
        set { values.expectedSendSize = newValue }
    }

    /// How much the operations will receive. Kept here.
    public var expectedReceiveSize: TransferSize {
        get { values.expectedReceiveSize }
        set { values.expectedReceiveSize = newValue }
    }

    var defaultSettings: OperationSettings { values.configuration.settings }

    /// The group as a call carries it: 255 bytes at most.
    var wireName: String {
        let name = name ?? operationGroupID
        if name.utf8.count <= 255 { return name }
        var end = name.utf8.index(name.startIndex, offsetBy: 255)
        while end.samePosition(in: name.unicodeScalars) == nil { end = name.utf8.index(before: end) }
        return String(name[..<end])
    }

    /// A group object of its own with the same id and values: to the server's log both are one group.
    public func copy(with zone: NSZone? = nil) -> Any {
        var values = values.current
        values.configuration = CKOperationConfiguration(values.configuration.settings)
        return CKOperationGroup(operationGroupID: operationGroupID, values: values)
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the group into a keyed archive: id, name, sizes, and the explicit values of the configuration but its
    /// container.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKOperationGroup.self)
        let values = values.current
        coder.encode(operationGroupID as NSString, forKey: "OperationGroupID")
        coder.encodeIfPresent(values.name, forKey: "Name")
        coder.encode(Int64(values.quantity), forKey: "Quantity")
        coder.encode(Int64(values.expectedSendSize.rawValue), forKey: "ExpectedSendSize")
        coder.encode(Int64(values.expectedReceiveSize.rawValue), forKey: "ExpectedReceiveSize")
        let settings = values.configuration.settings
        if let value = settings.qualityOfService { coder.encode(Int64(value.rawValue), forKey: "QualityOfService") }
        if let value = settings.allowsCellularAccess { coder.encode(value, forKey: "AllowsCellularAccess") }
        if let value = settings.isLongLived { coder.encode(value, forKey: "IsLongLived") }
        if let value = settings.timeoutIntervalForRequest { coder.encode(value, forKey: "TimeoutIntervalForRequest") }
        if let value = settings.timeoutIntervalForResource { coder.encode(value, forKey: "TimeoutIntervalForResource") }
    }

    /// Reads an archived group; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKOperationGroup.self)
        guard let id = coder.stringIfPresent(forKey: "OperationGroupID"), !id.isEmpty else { return nil }
        operationGroupID = id
        values = Guarded(Values())
        func number(_ key: String) -> Int? {
            coder.containsValue(forKey: key) ? Int(truncatingIfNeeded: coder.decodeInt64(forKey: key)) : nil
        }
        func seconds(_ key: String) -> TimeInterval? {
            coder.containsValue(forKey: key) ? coder.decodeDouble(forKey: key) : nil
        }
        func flag(_ key: String) -> Bool? {
            coder.containsValue(forKey: key) ? coder.decodeBool(forKey: key) : nil
        }
        super.init()
        name = coder.stringIfPresent(forKey: "Name")
        quantity = number("Quantity") ?? 0
        expectedSendSize = number("ExpectedSendSize").flatMap(TransferSize.init(rawValue:)) ?? .unknown
        expectedReceiveSize = number("ExpectedReceiveSize").flatMap(TransferSize.init(rawValue:)) ?? .unknown
        values.configuration = CKOperationConfiguration(
            OperationSettings(
                qualityOfService: number("QualityOfService").flatMap(QualityOfService.init(rawValue:)),
                allowsCellularAccess: flag("AllowsCellularAccess"), isLongLived: flag("IsLongLived"),
                timeoutIntervalForRequest: seconds("TimeoutIntervalForRequest"),
                timeoutIntervalForResource: seconds("TimeoutIntervalForResource")))
    }
}
