/// Whom an app lets its users share with.
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Whoever has the URL.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    /// Those who are invited.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
    /// Either.
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// What an app lets its users allow those whom they share with.
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// To read.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    /// To read and write.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    /// Either.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}
