import {useEffect, useRef} from 'preact/hooks'

/** Longer than that nobody waits for it, and then it would be taken from something else. */
const patienceMs = 30_000
let until = 0

/** What a person has just done takes away what they did it with: what comes in its place is to have the focus. */
export const expectFocus = (): void => {
  until = Date.now() + patienceMs
}

/** For what may come in such a place: it has the focus as it appears, where one is expected. Its element needs `tabindex="-1"`. */
export const useExpectedFocus = <T extends HTMLElement>() => {
  const element = useRef<T>(null)
  useEffect(() => {
    if (Date.now() > until || !element.current) return
    until = 0
    element.current.focus({preventScroll: true})
  }, [])
  return element
}
