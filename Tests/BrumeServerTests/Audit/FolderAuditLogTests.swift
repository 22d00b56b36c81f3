import BrumeModel
import BrumeService
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer

@Suite("The audit log of a data folder")
struct FolderAuditLogTests {
    @Test("has each act before it begins, and on a full disk lets nothing begin but a look") func fullDisk() throws {
        let (disk, lines) = (SimulatedDisk(), Lines())
        let audit = try FolderAuditLog(
            on: disk, log: lines.log(minimum: .info), nowMilliseconds: { 1_000 }, failStop: nil)
        let origin = OperatorOrigin(peer: "process 7 of user 0", request: "r")
        let first = try audit.begin(OperatorAct("account.add", "ada"), from: origin)
        #expect(first == 1)
        disk.faults.capacityBytes = disk.usedBytes
        #expect(try audit.begin(OperatorAct("account.list", isLook: true), from: origin) == nil)
        #expect(lines.all.contains { $0.contains("look is not in the audit log") })
        let refusal = #expect(throws: ServiceError.self) {
            _ = try audit.begin(OperatorAct("account.remove", "ada"), from: origin)
        }
        #expect(refusal?.code == ServiceError.diskFull.code)
        disk.faults.capacityBytes = nil
        #expect(try audit.begin(OperatorAct("account.list", isLook: true), from: origin) == 2)
        var numbers: [UInt64] = []
        #expect(try AuditVerification(of: disk) { entry, _ in numbers.append(entry.number) }.problems.isEmpty)
        #expect(numbers == [1, 2])
    }
}
