const slot = 'bulkhead-admin-key'

/** The key in a fragment such as `#key=…`. A fragment is never sent to a server, so it reaches no log. */
export const keyFromFragment = (fragment: string): string | null => {
  const key = new URLSearchParams(fragment.replace(/^#/, '')).get('key')
  return key === null || key === '' ? null : key
}

/** Takes the key from the address bar, once, or from this tab's earlier life. */
export const takeKey = (): string | null => {
  const given = keyFromFragment(location.hash)
  if (given === null) return sessionStorage.getItem(slot)
  history.replaceState(null, '', location.pathname)
  keepKey(given)
  return given
}

/** For this tab alone, until it closes. */
export const keepKey = (key: string): void => sessionStorage.setItem(slot, key)

export const forgetKey = (): void => sessionStorage.removeItem(slot)
