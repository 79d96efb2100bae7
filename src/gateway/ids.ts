/** Lower-case hexadecimal. */
export const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** A client's own request id as it may be echoed: at most 128 printable ASCII characters, else null. */
export const echoableId = (value: string | null): string | null =>
  value !== null && /^[\x21-\x7e]{1,128}$/.test(value) ? value : null
