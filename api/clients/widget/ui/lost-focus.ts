import {useEffect} from 'preact/hooks'

/** The wait before the heading takes the focus, so that other code can set the focus first. */
const patienceMs = 120

/** Moves the focus to the heading if the focused element was removed from the page. */
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
