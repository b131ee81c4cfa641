import {signal} from '@preact/signals'

/** Where the person is: the address after `#`, so that a reload, a bookmark and the back button come to the same place. */
export type Place = {path: string[]; query: URLSearchParams}

const readPlace = (): Place => {
  const [path = '', query = ''] = location.hash.slice(1).split('?')
  return {path: path.split('/').filter(Boolean).map(readPart), query: new URLSearchParams(query)}
}

/** An address somebody has mistyped is one of no page, not an end of everything. */
const readPart = (part: string) => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const place = signal<Place>(readPlace())
addEventListener('hashchange', () => {
  place.value = readPlace()
})

/** `to('imports', id, 'run')`: an address for a link; parts are encoded. */
export const to = (...parts: (string | Record<string, string | undefined>)[]): string => {
  const last = parts.at(-1)
  const query = typeof last === 'object' ? last : {}
  const path = parts.filter(part => typeof part === 'string').map(encodeURIComponent)
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  return `#/${path.join('/')}${given.length ? `?${new URLSearchParams(given)}` : ''}`
}

/** Goes there; `replace` leaves no step to come back to. */
export const go = (address: string, {replace = false} = {}): void => {
  if (!replace) {
    location.hash = address
    return
  }
  history.replaceState(null, '', address)
  place.value = readPlace()
}

/** For when something has been done that took a while: goes there if the person is still on the page where they asked for it. */
export const goIfHere = (): typeof go => {
  const from = place.value.path.join('/')
  return (address, how) => {
    if (place.value.path.join('/') === from) go(address, how)
  }
}

/** Changes what stands after `?` here and leaves the rest; filters are kept so. */
export const setQuery = (changes: Record<string, string | undefined>): void => {
  const {path, query} = place.value
  const next = {...Object.fromEntries(query), ...changes}
  go(to(...path, next), {replace: true})
}
