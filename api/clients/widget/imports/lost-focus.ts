import {useEffect} from 'preact/hooks'

/** When what had the focus has gone with a change of `of`, the page's heading has it, so that a keyboard goes on from there. */
export const useLostFocus = (of: number): void => {
  useEffect(() => {
    const timer = setTimeout(() => {
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('h1')?.focus()
    })
    return () => clearTimeout(timer)
  }, [of])
}
