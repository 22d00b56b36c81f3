import Foundation
import Testing

@testable import BrumeEncryption

/// What another implementation made, and refuses (Tests/Python/encryption).
@Suite struct VectorTests {
    @Test(
        "all vectors are read, and made again where nothing is random, or refused as the page says",
        arguments: Vector.kinds)
    func vectors(kind: String) throws {
        let vectors = try Vector.all().filter { $0.text("kind") == kind }
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let expected = vector.values["refusal"] as? String
            do {
                let result = try vector.read()
                #expect(expected == nil, "\(kind), \(vector.text("name")): it is not refused")
                guard expected == nil else { continue }
                let (made, given) = (try Vector.json(result), try Vector.json(vector.values["result"]!))
                #expect(made == given, "\(kind), \(vector.text("name"))")
            } catch let refusal as EncryptionRefusal {
                #expect(refusal.rawValue == expected, "\(kind), \(vector.text("name"))")
            }
        }
    }

    @Test("no vector is of a kind that is not read")
    func kinds() throws {
        #expect(Set(try Vector.all().map { $0.text("kind") }) == Set(Vector.kinds))
    }
}
