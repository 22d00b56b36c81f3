/// What a labelled message is for. Each kind of hash, derivation, signature and associated data has one of its own, so
/// that nothing that was made for one of them passes for another (Documentation/EncryptionFormats.md, section 1).
enum Label: String {
    case signSeed = "sign-seed"
    case boxSeed = "box-seed"
    // Trees.
    case tree
    case treeKey = "tree-key"
    case sharedTreeKey = "shared-tree-key"
    // Values and stamps.
    case fieldKey = "field-key"
    case field
    case stampKey = "stamp-key"
    case stamp
    // Assets.
    case asset
    case assetNonceKey = "asset-nonce-key"
    case assetNonce = "asset-nonce"
    case assetChunkKey = "asset-chunk-key"
    case assetChunk = "asset-chunk"
    // Recovery codes.
    case recoveryCheck = "recovery-check"
    case paper
    case anchor
    // Identities.
    case statement
    case statementHash = "statement-hash"
    case statementOwn = "statement-own"
    case statementNext = "statement-next"
    case signedStatement = "signed-statement"
    case identityBox = "identity-box"
    case earlierSeedKey = "earlier-seed-key"
    case earlierSeedData = "earlier-seed-data"
    case earlierSeed = "earlier-seed"
    case deviceNameKey = "device-name-key"
    case deviceName = "device-name"
    case safetyNumber = "safety-number"
    // Enrolment.
    case enrolmentCommitment = "enrol-commitment"
    case enrolment
    case enrolment1 = "enrol-1"
    case enrolment2 = "enrol-2"
    case enrolment3 = "enrol-3"
    case enrolment4 = "enrol-4"
    case enrolmentDone = "enrol-done"
    // Rings.
    case ringEntry = "ring-entry"
    case ringHash = "ring-hash"
    case ringSign = "ring-sign"
    case ringKey = "ring-key"
    case ringBox = "ring-box"
    case signedRingEntry = "signed-ring-entry"
    case earlier
    case earlierKeys = "earlier-keys"
    case earlierKeysKey = "earlier-keys-key"
    case closed
    case closedKey = "closed-key"
    case closedData = "closed-data"
    // Links.
    case join
    case linkBox = "link-box"
    case participant

    var text: String { "brume/1/" + rawValue }
}
