import {useEffect} from 'preact/hooks'
import {go, to} from './state/place.ts'

/** The start page redirects to the imports. */
export const Home = () => {
  useEffect(() => go(to('imports'), {replace: true}), [])
  return null
}
