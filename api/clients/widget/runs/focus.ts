import {useEffect, useRef} from 'preact/hooks'

/** How long a call of `expectFocus` is valid. After that, the person may be elsewhere on the page. */
const patienceMs = 30_000
let until = 0

/** Lets the next element that uses `useExpectedFocus` take the focus. Call it when an action removes the focused element. */
export const expectFocus = (): void => {
  until = Date.now() + patienceMs
}

/** Focuses an element when it appears, if `expectFocus` was called in the last 30 seconds. The element needs `tabindex="-1"`. */
export const useExpectedFocus = <T extends HTMLElement>() => {
  const element = useRef<T>(null)
  useEffect(() => {
    if (Date.now() > until || !element.current) return
    until = 0
    element.current.focus({preventScroll: true})
  }, [])
  return element
}
