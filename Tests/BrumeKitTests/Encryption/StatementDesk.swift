import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// The statements of one account as a server has them.
///
/// `@unchecked Sendable`: one test has it.
final class StatementDesk: @unchecked Sendable {
    let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
    let steps = Steps()
    var statements: [SharedBytes] = []
    /// Pages are small, so that there are some.
    var statementsPerPage = 2
    /// Comes between a fetch and what follows it: another device is faster.
    var isOvertakenBy: (() throws -> Void)?

    var signed: [SignedStatement] { get throws { try statements.map { try SignedStatement($0.array) } } }
    var last: Statement? { get throws { try signed.last?.statement } }

    func fetch(after number: UInt32) throws -> StatementsPage {
        if steps.next() != nil { throw Steps.Broken() }
        return StatementsPage(
            statements: Array(statements.dropFirst(Int(number)).prefix(statementsPerPage)),
            last: UInt32(statements.count))
    }

    /// Takes a statement, or says why not, as the server does.
    func append(_ request: AppendStatementRequest) throws -> AccountKeysStateMachine.Refusal? {
        if let overtake = isOvertakenBy {
            isOvertakenBy = nil
            try overtake()
        }
        let fault = steps.next()
        if let fault, fault != .after { throw Steps.Broken() }
        let refusal = take(request)
        if fault != nil { throw Steps.Broken() }
        return refusal
    }

    private func take(_ request: AppendStatementRequest) -> AccountKeysStateMachine.Refusal? {
        do throws(EncryptionRefusal) {
            let signed = try SignedStatement(request.statement.array)
            let number = Int(signed.statement.number)
            if number <= statements.count, statements[number - 1] == request.statement { return nil }
            if !request.replacedHash.isEmpty {
                let last = try statements.last.map { last throws(EncryptionRefusal) in try Statement(kept: last.array) }
                guard last?.hash == request.replacedHash else { return .init(code: .serverRecordChanged, message: "") }
                _ = try StatementHead(first: signed, of: scope)
                statements = [request.statement]
                return nil
            }
            guard number == statements.count + 1 else { return .init(code: .serverRecordChanged, message: "") }
            if var head = try StatementHead(kept: statements.map(\.array)) {
                try head.append(signed)
            } else {
                _ = try StatementHead(first: signed, of: scope)
            }
            statements.append(request.statement)
            return nil
        } catch {
            return .init(code: .invalidArguments, message: "\(error)")
        }
    }
}
