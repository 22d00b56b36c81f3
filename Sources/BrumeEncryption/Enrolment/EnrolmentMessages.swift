/// The messages of an enrolment, each as it travels (Documentation/EncryptionFormats.md, section 9).
enum EnrolmentMessage {
    /// From the new device: a promise of what it will open, made before it knows anything of the other side.
    struct Commitment: Hashable, Sendable {
        let hash: [UInt8]

        init(hash: [UInt8]) { self.hash = hash }

        init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
            var reader = try PartReader(bytes, .enrolment1)
            try reader.readFormat()
            hash = try reader.readBytes(exactly: Digest.byteCount)
            try reader.end()
        }

        var bytes: [UInt8] {
            var writer = PartWriter(.enrolment1, format: ())
            writer.write(bytes: hash)
            return writer.bytes
        }
    }

    /// From a device of the account.
    struct Offer: Hashable, Sendable {
        let statementHash: [UInt8]
        let device: PublicKeys
        let random: [UInt8]

        init(statementHash: [UInt8], device: PublicKeys, random: [UInt8]) {
            self.statementHash = statementHash
            self.device = device
            self.random = random
        }

        init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
            var reader = try PartReader(bytes, .enrolment2)
            try reader.readFormat()
            statementHash = try reader.readBytes(exactly: Digest.byteCount)
            device = try reader.readKeys()
            random = try reader.readBytes(exactly: EnrolmentTranscript.randomBytes)
            try reader.end()
        }

        var bytes: [UInt8] {
            var writer = PartWriter(.enrolment2, format: ())
            write(to: &writer)
            return writer.bytes
        }

        func write(to writer: inout PartWriter) {
            writer.write(bytes: statementHash)
            writer.write(device)
            writer.write(bytes: random)
        }
    }

    /// From the new device: what it promised.
    struct Opening: Hashable, Sendable {
        let device: PublicKeys
        let random: [UInt8]

        init(device: PublicKeys, random: [UInt8]) {
            self.device = device
            self.random = random
        }

        init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
            var reader = try PartReader(bytes, .enrolment3)
            try reader.readFormat()
            device = try reader.readKeys()
            random = try reader.readBytes(exactly: EnrolmentTranscript.randomBytes)
            try reader.end()
        }

        var bytes: [UInt8] {
            var writer = PartWriter(.enrolment3, format: ())
            write(to: &writer)
            return writer.bytes
        }

        func write(to writer: inout PartWriter) {
            writer.write(device)
            writer.write(bytes: random)
        }
    }

    /// From the device of the account, once the statement that lists the new device is stored.
    struct Done: Hashable, Sendable {
        let statementHash: [UInt8]
        let signature: [UInt8]

        init(statementHash: [UInt8], signature: [UInt8]) {
            self.statementHash = statementHash
            self.signature = signature
        }

        init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
            var reader = try PartReader(bytes, .enrolment4)
            try reader.readFormat()
            statementHash = try reader.readBytes(exactly: Digest.byteCount)
            signature = try reader.readBytes(exactly: Signature.byteCount)
            try reader.end()
        }

        var bytes: [UInt8] {
            var writer = PartWriter(.enrolment4, format: ())
            writer.write(bytes: statementHash)
            writer.write(bytes: signature)
            return writer.bytes
        }
    }
}

extension PartWriter {
    /// A message with format and suite behind its label.
    fileprivate init(_ label: Label, format: Void) {
        self.init(label)
        write(u8: Suite.format)
        write(u8: Suite.suite)
    }
}
