import {useEffect} from 'preact/hooks'

/** Whoever knows better where the focus goes on, such as to the next of a list, has it there by then. */
const patienceMs = 120

/** When what had the focus has gone from the page, its heading has it, so that a keyboard goes on from there and a reader says where that is. */
export const useLostFocus = (): void => {
  useEffect(() => {
    let last: Element | null = null
    const note = ({target}: FocusEvent) => {
      last = target as Element
    }
    const mend = () => {
      if (document.activeElement === document.body && last?.isConnected === false) document.querySelector('h1')?.focus()
    }
    const watched = new MutationObserver(() => last?.isConnected === false && setTimeout(mend, patienceMs))
    addEventListener('focusin', note)
    watched.observe(document.body, {childList: true, subtree: true})
    return () => {
      watched.disconnect()
      removeEventListener('focusin', note)
    }
  }, [])
}
