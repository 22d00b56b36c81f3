internal import BrumeModel
internal import BrumeService

/// Something that an operator does to a data folder as a whole while no server has it open, noted in its audit log.
package struct FolderAct {
    private let log: FolderAuditLog
    private let number: UInt64?

    /// Notes that it is about to begin. The caller has the folder's lock.
    ///
    /// - Parameters:
    ///   - name: As `Documentation/Operations.md` lists it.
    ///   - target: What it is done with; may be empty.
    /// - Throws: Where it can't be noted: then it must not begin.
    package init(_ name: String, _ target: String = "", in folder: String) throws(ServerError) {
        log = try .ofStopped(folder)
        do throws(ServiceError) {
            number = try log.begin(OperatorAct(name, target), from: .thisProcess)
        } catch {
            throw ServerError(.folder, "\(folder): \(error.message)")
        }
    }

    /// Notes that it has ended.
    package func end(isDone: Bool) {
        guard let number else { return }
        log.end(number, isDone ? nil : ServiceError(.internalError, "it was not done"))
    }
}
