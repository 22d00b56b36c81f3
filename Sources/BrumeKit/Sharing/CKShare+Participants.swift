extension CKShare {
    /// A user's part in a share.
    public typealias Participant = CKShareParticipant

    /// What a share leads to, before it is accepted.
    public typealias Metadata = CKShareMetadata

    /// A user who asked to take part.
    public typealias AccessRequester = CKShareAccessRequester

    /// A user whose requests to take part are not heard.
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// Whether a participant has taken part yet. Raw values are CloudKit's.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Invited.
        case pending = 1
        /// Takes part.
        case accepted = 2
        /// Takes part no more.
        case removed = 3
    }

    /// What a participant may do. Raw values are CloudKit's.
    public enum ParticipantPermission: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Nothing.
        case none = 1
        /// Read.
        case readOnly = 2
        /// Read and write.
        case readWrite = 3
    }

    /// What a participant is in a share. Raw values are CloudKit's.
    public enum ParticipantRole: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Whose share it is.
        case owner = 1
        /// May manage the participants as the owner does.
        case administrator = 2
        /// Was invited.
        case privateUser = 3
        /// Came by the share's URL.
        case publicUser = 4
    }

    /// The earlier kind of ``ParticipantRole``. Raw values are CloudKit's.
    @available(*, deprecated, renamed: "ParticipantRole")
    public enum ParticipantType: Int, Sendable {
        /// Not known.
        case unknown = 0
        /// Whose share it is.
        case owner = 1
        /// Was invited.
        case privateUser = 3
        /// Came by the share's URL.
        case publicUser = 4

        init(_ role: ParticipantRole) {
            self =
                switch role {
                case .owner: .owner
                case .privateUser: .privateUser
                case .publicUser: .publicUser
                case .unknown, .administrator: .unknown
                }
        }

        var role: ParticipantRole {
            switch self {
            case .unknown: .unknown
            case .owner: .owner
            case .privateUser: .privateUser
            case .publicUser: .publicUser
            }
        }
    }

    /// Names of the fields of a share.
    public enum SystemFieldKey {
        /// What the share is called: text of at most 4 KiB, shown to whoever has the share's URL, also before they
        /// accept it.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A picture of it: `Data` of at most 100 KiB, in the format of an image file. It is in the share itself, not
        /// an asset, so that whoever has the share's URL is shown it before they accept it.
        ///
        /// A larger one fails the save with ``CKError/Code/limitExceeded``, a ``CKAsset`` with
        /// ``CKError/Code/invalidArguments``.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The kind of thing that is shared, as a uniform type identifier.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }
}
