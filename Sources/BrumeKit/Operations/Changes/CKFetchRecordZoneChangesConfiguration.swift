public import Foundation

/// What to fetch of one zone's changes: used as `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
///
/// May be used from several threads.
public class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all state is behind the lock.

    struct Values: Sendable {
        var previousServerChangeToken: CKServerChangeToken?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
    }

    let values: Guarded<Values>

    init(_ values: Values) {
        self.values = Guarded(values)
    }

    /// A configuration that fetches all of a zone.
    public override convenience init() {
        self.init(Values())
    }

    /// A configuration with the given values.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init(
            Values(
                previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit ?? 0,
                desiredKeys: desiredKeys))
    }

    /// Where the fetch before ended; nil for all records that exist.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { values.previousServerChangeToken }
        set { values.previousServerChangeToken = newValue }
    }

    /// The most changes in a page; 0, the default, leaves it to the server.
    public var resultsLimit: Int {
        get { values.resultsLimit }
        set { values.resultsLimit = newValue }
    }

    /// The fields to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { values.desiredKeys }
        set { values.desiredKeys = newValue }
    }

    /// A configuration of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(values.current)
    }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the configuration into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKFetchRecordZoneChangesConfiguration.self)
        let values = values.current
        if let token = values.previousServerChangeToken { coder.encode(token, forKey: "PreviousServerChangeToken") }
        coder.encode(Int64(values.resultsLimit), forKey: "ResultsLimit")
        coder.encodeIfPresent(values.desiredKeys, forKey: "DesiredKeys")
    }

    /// Reads an archived configuration.
    public required convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKFetchRecordZoneChangesConfiguration.self)
        guard coder.containsValue(forKey: "ResultsLimit") else { return nil }
        self.init(
            previousServerChangeToken: coder.objectIfPresent(
                of: CKServerChangeToken.self, forKey: "PreviousServerChangeToken"),
            resultsLimit: Int(truncatingIfNeeded: coder.decodeInt64(forKey: "ResultsLimit")),
            desiredKeys: coder.stringsIfPresent(forKey: "DesiredKeys"))
    }
}

extension CKFetchRecordZoneChangesOperation {
    /// What to fetch of one zone's changes.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// The earlier name of ``ZoneConfiguration``.
    @available(*, deprecated, renamed: "ZoneConfiguration")
    public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration
}
