internal import BrumeStore

/// What operators did stays in the audit log, whatever happens to the machine (I20).
extension SimulatedServer {
    /// What is wrong with the log that a start finds: its chain, or an act that was done and is not in it.
    func auditProblem() -> String? {
        do throws(DiskError) {
            let (verification, acts) = try Self.auditedActs(on: disk)
            if let problem = verification.problems.first {
                return "I20: the audit log is called damaged, which nobody damaged: \(problem)"
            }
            if acts < doneActs { return "I20: \(doneActs) acts of operators were done, and \(acts) are noted" }
            simulation.report.actsChecked += doneActs
            return nil
        } catch {
            // A fault struck, and the machine tries again.
            return nil
        }
    }

    /// The log is another one: that of a backup.
    func forgetActs() {
        doneActs = (try? Self.auditedActs(on: disk).acts) ?? 0
    }

    private static func auditedActs(
        on disk: any Disk
    ) throws(DiskError) -> (verification: AuditVerification, acts: Int) {
        var acts = 0
        let verification = try AuditVerification(of: disk) { entry, _ in
            if case .began = entry.event { acts += 1 }
        }
        return (verification, acts)
    }
}
