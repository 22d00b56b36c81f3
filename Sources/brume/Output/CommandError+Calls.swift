extension CommandError {
    /// Calls of the SDK that its sentences about encryption keys advise, and the commands that make them.
    private static let commands = [
        ("CKContainer.encryptionStatus()", "brume key"),
        ("CKContainer.encryptionDevices()", "brume key devices"),
        ("CKContainer.recoveryCode()", "brume key code"),
        ("CKContainer.replaceRecoveryCode()", "brume key code --replace"),
        ("CKContainer.useRecoveryCode(_:)", "brume key use"),
        ("CKContainer.requestEnrolment()", "brume key enrol"),
        ("CKContainer.resetEncryption()", "brume key reset"),
        ("CKContainer.enrolmentRequests()", "brume key approve"),
        ("CKDatabase.acceptEncryptionKeys(of:)", "brume key trust ZONE"),
        ("CKDatabase.acceptEncryptionKeys(ofShared:)", "brume key trust ZONE RECORD"),
        ("CKDatabase.encryptionPeople(of:)", "brume key people"),
        ("CKDatabase.encryptionPeople(ofShared:)", "brume key people"),
        ("CKDatabase.giveEncryptionKeys(to:)", "brume key give"),
        ("CKDatabase.reencryptRecords(in:)", "brume key reencrypt ZONE"),
        ("CKContainer.trust(_:)", "brume key compare"),
        ("set it with encryptedValues", "set it with brume records save --encrypted"),
        ("set it without encryptedValues", "set it without --encrypted"),
    ]

    /// A sentence of the SDK with the names of commands in the place of calls.
    static func namingCommands(_ sentence: String) -> String {
        commands.reduce(sentence) { $0.replacing($1.0, with: $1.1) }
    }
}
