import { describe, expect, it } from 'vitest'
import { parseListen } from './listen.ts'
import { nearest } from './nearest.ts'
import { parseDuration, parseSize } from './units.ts'

describe('units and addresses', () => {
  it('read durations and sizes', () => {
    expect(['60s', '250ms', '2m', '1h', '1.5 s'].map(parseDuration)).toEqual([60_000, 250, 120_000, 3_600_000, 1500])
    expect(['2GiB', '1MB', '512KiB', '7B', '0.5MiB'].map(parseSize)).toEqual([2 ** 31, 1e6, 524_288, 7, 524_288])
    for (const wrong of ['', '60', 's', '-1s', '1e3s', '1.0005ms', '99999999999999h', '1 day', '1constructor']) {
      expect([parseDuration(wrong), parseSize(wrong)], wrong).toEqual([null, null])
    }
  })

  it('read addresses', () => {
    expect(parseListen('localhost:0')).toEqual({ host: 'localhost', port: 0 })
    expect(parseListen('[::1]:8790')).toEqual({ host: '::1', port: 8790 })
    for (const wrong of ['', ':1', '127.0.0.1', '127.0.0.1:65536', 'http://x:1', '::1:80', 'a b:1'])
      expect(parseListen(wrong), wrong).toBeNull()
  })

  it('find the nearest name only where it is near', () => {
    expect(nearest('prefill-pool', ['prefill_pool', 'decode_pool'])).toBe('prefill_pool')
    expect(nearest('xyz', ['prefill_pool', 'decode_pool'])).toBeNull()
  })
})
