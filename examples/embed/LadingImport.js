import {createElement, useEffect, useRef} from 'react'

/**
 * `<lading-import>` as a React component. Load `/embed.js` of the server once, in the page or before the first render.
 *
 *   <LadingImport server="https://lading.example.com" template="tpl_…" token={getToken} onRun={…} onEnd={…} />
 *
 * @param {{server?: string, template: string, token: () => string | Promise<string>, onRun?: (run: object) => void, onEnd?: (run: object) => void}} props
 */
export const LadingImport = ({server, template, token, onRun, onEnd}) => {
  const element = useRef(null)
  const latest = useRef({})
  latest.current = {token, onRun, onEnd}
  useEffect(() => {
    const {current} = element
    const run = event => latest.current.onRun?.(event.detail)
    const end = event => latest.current.onEnd?.(event.detail)
    current.token = () => latest.current.token()
    current.addEventListener('lading:run', run)
    current.addEventListener('lading:end', end)
    return () => {
      current.removeEventListener('lading:run', run)
      current.removeEventListener('lading:end', end)
    }
  }, [])
  return createElement('lading-import', {ref: element, server, template})
}
