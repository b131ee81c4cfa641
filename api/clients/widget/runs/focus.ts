import {useEffect, useRef} from 'preact/hooks'

/** Time within which the focus is moved. Later the person may be elsewhere on the page. */
const patienceMs = 30_000
let until = 0

/** Lets the next replacement element take the focus. Call it when an action removes the focused element. */
export const expectFocus = (): void => {
  until = Date.now() + patienceMs
}

/** Focuses an element when it appears, if `expectFocus` was called shortly before. The element needs `tabindex="-1"`. */
export const useExpectedFocus = <T extends HTMLElement>() => {
  const element = useRef<T>(null)
  useEffect(() => {
    if (Date.now() > until || !element.current) return
    until = 0
    element.current.focus({preventScroll: true})
  }, [])
  return element
}
