#pragma once
// OpenSSL 3 as a Swift module. The macros and variadics that Swift cannot import stand here as `brume_ssl_…` functions.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// TLS 1.3 and nothing else.
static inline int brume_ssl_ctx_only_tls13(SSL_CTX *ctx) {
    return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) && SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION);
}

static inline void brume_ssl_ctx_set_mode(SSL_CTX *ctx, long mode) { SSL_CTX_set_mode(ctx, mode); }

/// The server's order of ciphers counts, but for clients that put ChaCha20 first because they lack AES instructions.
static inline void brume_ssl_ctx_prefer_server_order(SSL_CTX *ctx) {
    SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
}

static inline void brume_ssl_ctx_set_session_cache_mode(SSL_CTX *ctx, long mode) {
    SSL_CTX_set_session_cache_mode(ctx, mode);
}

static inline int brume_ssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline void brume_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void brume_bio_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void brume_bio_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline EVP_PKEY *brume_evp_generate_p256(void) { return EVP_EC_gen("P-256"); }

/// A certificate's alternative names; NULL without any. GENERAL_NAMES_free frees them.
static inline GENERAL_NAMES *brume_x509_alternative_names(const X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline int brume_general_names_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }

/// Returns the kind of a name, GEN_DNS or GEN_IPADD, with its bytes; of another kind there are none.
static inline int brume_general_name(const GENERAL_NAMES *names, int index, const unsigned char **bytes, int *count) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    const ASN1_STRING *text = NULL;
    if (name->type == GEN_DNS) text = name->d.dNSName;
    if (name->type == GEN_IPADD) text = name->d.iPAddress;
    *bytes = text ? ASN1_STRING_get0_data(text) : NULL;
    *count = text ? ASN1_STRING_length(text) : 0;
    return name->type;
}

static inline void brume_x509v3_set_ctx(X509V3_CTX *ctx, X509 *issuer, X509 *subject) {
    X509V3_set_ctx_nodb(ctx);
    X509V3_set_ctx(ctx, issuer, subject, NULL, NULL, 0);
}
