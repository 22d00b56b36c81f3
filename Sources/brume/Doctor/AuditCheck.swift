internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// Whether the log of operators' acts is what was written.
enum AuditCheck {
    /// Nothing for a folder that no server has used.
    static func findings(_ configuration: ServerConfiguration) -> [Finding] {
        let folder = configuration.dataFolder
        guard case .data? = try? DataFolder.content(of: folder) else { return [] }
        let verification: AuditVerification
        do throws(DiskError) {
            verification = try AuditVerification(of: RealDisk(folder: folder))
        } catch {
            return [
                Finding(
                    "audit log", .failure, "it can't be read, and without it no account or schema is changed: \(error)",
                    remedy: "run this as the server's user, and check the disk")
            ]
        }
        guard verification.problemCount == 0 else {
            let places = CountText.text(verification.problemCount, "place")
            return [
                Finding(
                    "audit log", .failure, "it is not as it was written, in \(places)",
                    remedy: "brume audit verify says where; compare with a backup's copy, and with the server's log")
            ]
        }
        guard let numbers = verification.numbers else {
            return [Finding("audit log", .note, "it is empty: no act of an operator is noted yet")]
        }
        return [
            Finding("audit log", "entries \(numbers.lowerBound) to \(numbers.upperBound) are as they were written")
        ]
    }
}
