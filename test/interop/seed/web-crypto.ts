import { webcrypto } from 'node:crypto';

if (typeof globalThis.crypto === 'undefined') {
    (globalThis as any).crypto = webcrypto as unknown as Crypto;
}
