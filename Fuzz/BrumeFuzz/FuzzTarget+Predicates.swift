internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol

extension FuzzTarget {
    /// A predicate's text: the first byte chooses its arguments. What is understood says the same in its canonical
    /// text, and a server takes what the SDK lets through.
    static let predicates = FuzzTarget(
        name: "predicates",
        run: { bytes in
            var steering = Steering(bytes)
            let choice = steering.byte()
            let text = String(decoding: steering.rest, as: UTF8.self)
            do throws(CKError) {
                check(try NSPredicate(validatingFormat: text, argumentArray: arguments(for: text, choice)))
            } catch {
                precondition(error.code == .invalidArguments, "a predicate's text was refused with another error")
            }
        },
        seeds: {
            predicateTexts.enumerated().map { [UInt8($0.offset)] + Array($0.element.utf8) }
        })

    private static func check(_ predicate: NSPredicate) {
        let text = predicate.canonicalFormat
        guard let again = try? NSPredicate(validatingFormat: text) else {
            preconditionFailure("a predicate's own text is refused: \(text)")
        }
        precondition(again.saysTheSame(as: predicate), "a predicate's own text says something else: \(text)")
        precondition(again.canonicalFormat == text, "equal predicates differ: \(text)")
        do throws(CKError) {
            let tree = try predicate.translated()
            // What has the moment of the query in it differs each time.
            if !text.lowercased().contains("now()") {
                let treeAgain = try again.translated()
                precondition(treeAgain == tree, "equal predicates mean different things: \(text)")
            }
            _ = tree.problemUnderCloudKitRules()
            send(tree)
        } catch {
            precondition(
                error.code == .invalidArguments || error.code == .limitExceeded,
                "a predicate was refused with another error than the two that it may be")
        }
    }

    private static func send(_ predicate: BrumeModel.Predicate) {
        let coder = MessageCoder()
        let request = QueryRequest(
            database: .private, zone: nil, query: Query(recordType: "Note", predicate: predicate))
        do throws(ServiceError) {
            let arrived = try coder.encodeQueryRequest(request).decoded(coder.decodeQueryRequest)
            precondition(arrived == request, "a predicate changes on its way")
        } catch {
            precondition(error.code == .limitExceeded, "a server refuses what the SDK lets through: \(error.message)")
        }
    }

    private static func arguments(for text: String, _ choice: Int) -> [Any] {
        let recordID = CKRecord.ID(recordName: "r1")
        let values: [Any] = [
            "a\"b\\", 5, 2.5, true, Date(timeIntervalSinceReferenceDate: 0.5), Data([0, 255]), recordID,
            CKRecord.Reference(recordID: recordID, action: .deleteSelf),
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 0, horizontalAccuracy: 0,
                verticalAccuracy: 0, timestamp: Date(timeIntervalSinceReferenceDate: 0)), ["a", "b"], [1, 2],
            [[1], []],
            NSNull(), Double.infinity, NSExpression(forVariable: "V"), [recordID],
        ]
        let keys = ["title", "in", "self.x", "a b", "recordID", "creationDate"]
        var result: [Any] = []
        var isPlaceholder = false
        for byte in text.utf8 {
            guard isPlaceholder else {
                isPlaceholder = byte == UInt8(ascii: "%")
                continue
            }
            if "hlqztj".utf8.contains(byte) { continue }
            isPlaceholder = false
            switch byte {
            case UInt8(ascii: "@"): result.append(values[(choice + result.count) % values.count])
            case UInt8(ascii: "K"): result.append(keys[(choice + result.count) % keys.count])
            case _ where "fFgGeEaA".utf8.contains(byte): result.append(1.5)
            default: result.append(5)
            }
        }
        return result
    }

    private static let predicateTexts = [
        "a == %@ AND b > %d", "%K == %@ OR NOT c < %f", "a IN {1, 2, 'x'} && !(b == \"\\u00e9\\n\")",
        "a BETWEEN {1, 0x1F} || b != -1.5e3", "self CONTAINS 'a b' AND NONE tags == 'x'",
        "allTokens TOKENMATCHES[cdl] %@", "distanceToLocation:fromLocation:(place, %@) < 5",
        "a == CAST(5, 'NSDate') OR b == CAST('AQI=', 'NSData')", "a == CAST({'n', 'Z', '_o', 1}, 'CKReference')",
        "distanceToLocation:fromLocation:(p, CAST({1,2,0,0,-1,-1,-1,0}, 'CLLocation')) <= 1.5",
        "a == CAST('inf', 'NSNumber') OR b == CAST('a b', 'NSKeyPath')",
        "recordID == CAST({'n', 'Z', '_o'}, 'CKRecordID')",
        "ANY tags IN %@ AND ALL x > 1 AND SOME y LIKE 'z' OR a MATCHES 'b' OR c ENDSWITH 'd'",
        "#in == $V OR a.b.@count > now()", "TRUEPREDICATE AND (FALSEPREDICATE OR a == nil)", "creationDate > %@",
        "((a == 1 AND b == 2) OR c == YES) AND {1} CONTAINS d", "tokenize:using:(self, 'cdl') CONTAINS 'x'",
    ]
}
