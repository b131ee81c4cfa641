import {signal} from '@preact/signals'

/** The address of a page of the widget: the part of the URL after `#`. */
export type PageAddress = {path: string[]; query: URLSearchParams}

const readPlace = (): PageAddress => {
  const [path = '', query = ''] = location.hash.slice(1).split('?')
  return {path: path.split('/').filter(Boolean).map(readPart), query: new URLSearchParams(query)}
}

/** Decodes a part of the URL. A malformed part stays as it is, so that a mistyped URL leads to "page not found". */
const readPart = (part: string) => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const place = signal<PageAddress>(readPlace())

let mayMove = () => true
/** Sets the function that confirms leaving the page by Back, Forward or a typed address. `go` does not call it. */
export const askBeforeHistory = (ask: () => boolean): void => {
  mayMove = ask
}

// The browser has already changed the address. If the person stays, a new history entry restores the former address.
addEventListener('hashchange', ({oldURL}) => {
  if (mayMove()) place.value = readPlace()
  else history.pushState(null, '', oldURL)
})

/** Builds an encoded link: `to('imports', id, 'run')`. */
export const to = (...parts: (string | Record<string, string | undefined>)[]): string => {
  const last = parts.at(-1)
  const query = typeof last === 'object' ? last : {}
  const path = parts.filter(part => typeof part === 'string').map(encodeURIComponent)
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  return `#/${path.join('/')}${given.length ? `?${new URLSearchParams(given)}` : ''}`
}

/** Navigates to an address without a confirmation. Adds no history entry with `replace`, or if the address is the present one. */
export const go = (address: string, {replace = false} = {}): void => {
  if (replace || address === location.hash) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  place.value = readPlace()
}

/** Returns a function that navigates only if the person is still on the same page. Use it after a slow action. */
export const goIfHere = (): typeof go => {
  const from = place.value.path.join('/')
  return (address, how) => {
    if (place.value.path.join('/') === from) go(address, how)
  }
}

/** Changes query parameters of the current page and keeps the rest. `undefined` or '' removes a parameter. No history entry is added. */
export const setQuery = (changes: Record<string, string | undefined>): void => {
  const {path, query} = place.value
  const next = {...Object.fromEntries(query), ...changes}
  go(to(...path, next), {replace: true})
}
