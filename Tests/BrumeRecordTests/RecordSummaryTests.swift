import BrumeModel
import BrumeRecord
import Testing

@Suite("Summaries of stored records")
struct RecordSummaryTests {
    private static let fields = [
        StoredRecord.encodeField(
            key: "owner", value: .reference(Reference(recordName: "boss", deletesSelf: true))),
        StoredRecord.encodeField(key: "text", value: .string("some words")),
    ]

    private static let record = StoredRecord.encode(
        SystemFields(
            name: "r1", type: "Note", changeTag: "7-1a", creator: "_me", createdMilliseconds: 5, modifier: "_you",
            modifiedMilliseconds: 6, parent: "top"), fields: fields)

    private struct Texts: Equatable {
        var name: String
        var type: String
        var changeTag: String
        var parent: String
        var cascadeTargets: [String]
        /// Whether the record begins with its texts.
        var isHeadFirst: Bool
    }

    private static func summary(_ bytes: [UInt8]) -> Result<Texts, ServiceError> {
        bytes.withUnsafeBytes { bytes in
            Result { () throws(ServiceError) in
                let summary = try StoredRecord.summary(of: bytes)
                #expect(summary.refersToOthers == (!summary.parent.isEmpty || !summary.cascades.targets.isEmpty))
                let head = StoredRecord.head(of: bytes)
                if summary.isHeadFirst {
                    #expect(head.name.elementsEqual(summary.name) && head.type.elementsEqual(summary.type))
                    #expect(head.changeTag.elementsEqual(summary.changeTag))
                }
                func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
                return Texts(
                    name: text(summary.name), type: text(summary.type), changeTag: text(summary.changeTag),
                    parent: text(summary.parent), cascadeTargets: summary.cascades.targets,
                    isHeadFirst: summary.isHeadFirst)
            }
        }
    }

    @Test("a summary says what the parts say")
    func content() throws {
        let summary = try RecordSummaryTests.summary(RecordSummaryTests.record).get()
        let parts = try StoredRecord.parts(of: RecordSummaryTests.record)
        #expect(summary.name == parts.system.name && summary.type == parts.system.type)
        #expect(summary.changeTag == parts.system.changeTag && summary.parent == parts.system.parent)
        #expect(summary.cascadeTargets == ["boss"] && summary.isHeadFirst)
    }

    @Test("what is no record for the one is none for the other, wherever a byte is wrong or missing")
    func damage() {
        func agree(_ bytes: [UInt8]) {
            let summary = try? RecordSummaryTests.summary(bytes).get()
            guard let parts = try? StoredRecord.parts(of: bytes) else {
                #expect(summary == nil, "\(bytes)")
                return
            }
            // Beyond that a summary looks into fields, and takes no scalar for a text.
            guard let summary else { return }
            #expect(summary.name == parts.system.name && summary.type == parts.system.type, "\(bytes)")
            #expect(summary.changeTag == parts.system.changeTag, "\(bytes)")
            #expect(summary.parent == parts.system.parent ?? "", "\(bytes)")
        }
        let record = RecordSummaryTests.record
        for count in record.indices { agree(Array(record[..<count])) }
        for index in record.indices {
            for bit in 0..<8 {
                var bytes = record
                bytes[index] ^= 1 << UInt8(bit)
                agree(bytes)
            }
        }
    }
}
