public import Foundation

/// What an app lets its users choose when they share. May be used from several threads.
///
/// On Apple's systems the share sheet reads them. There is none here: they hold what they are given, archives included,
/// for an app's own sheet to read.
public class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: what changes is behind the lock.

    private struct Values: Equatable, Sendable {
        var permissions: CKSharingParticipantPermissionOption
        var access: CKSharingParticipantAccessOption
        var allowsParticipantsToInviteOthers = false
        var allowsAccessRequests = false
    }

    private let values: Guarded<Values>

    /// Options with the given choices, and nothing else allowed.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        values = Guarded(
            Values(permissions: allowedParticipantPermissionOptions, access: allowedParticipantAccessOptions))
    }

    private init(_ values: Values) {
        self.values = Guarded(values)
    }

    /// Options with every choice of access and permission: another object each time.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// What users may allow others.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { values.permissions }
        set { values.permissions = newValue }
    }

    /// Whom users may share with.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { values.access }
        set { values.access = newValue }
    }

    /// Whether users may let participants invite others, as administrators; false unless set.
    public var allowsParticipantsToInviteOthers: Bool {
        get { values.allowsParticipantsToInviteOthers }
        set { values.allowsParticipantsToInviteOthers = newValue }
    }

    /// Whether users may let others ask to take part; false unless set.
    public var allowsAccessRequests: Bool {
        get { values.allowsAccessRequests }
        set { values.allowsAccessRequests = newValue }
    }

    /// Whether both allow the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKAllowedSharingOptions)?.values.current == values.current
    }

    /// Equal for options that allow the same.
    public override var hash: Int { Int(bitPattern: values.permissions.rawValue << 2 | values.access.rawValue) }

    /// Options of their own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any { CKAllowedSharingOptions(values.current) }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the options into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAllowedSharingOptions.self)
        let values = values.current
        coder.encode(Int64(bitPattern: UInt64(values.permissions.rawValue)), forKey: "PermissionOptions")
        coder.encode(Int64(bitPattern: UInt64(values.access.rawValue)), forKey: "AccessOptions")
        coder.encode(values.allowsParticipantsToInviteOthers, forKey: "AllowsParticipantsToInviteOthers")
        coder.encode(values.allowsAccessRequests, forKey: "AllowsAccessRequests")
    }

    /// Reads archived options; nil when the archive holds none.
    public required convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAllowedSharingOptions.self)
        guard coder.containsValue(forKey: "PermissionOptions"), coder.containsValue(forKey: "AccessOptions") else {
            return nil
        }
        func options(_ key: String) -> UInt { UInt(truncatingIfNeeded: coder.decodeInt64(forKey: key)) }
        func flag(_ key: String) -> Bool { coder.containsValue(forKey: key) && coder.decodeBool(forKey: key) }
        self.init(
            Values(
                permissions: CKSharingParticipantPermissionOption(rawValue: options("PermissionOptions")),
                access: CKSharingParticipantAccessOption(rawValue: options("AccessOptions")),
                allowsParticipantsToInviteOthers: flag("AllowsParticipantsToInviteOthers"),
                allowsAccessRequests: flag("AllowsAccessRequests")))
    }
}
