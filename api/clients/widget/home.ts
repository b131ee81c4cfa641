import {useEffect} from 'preact/hooks'
import {go, to} from './state/place.ts'

/** The imports are what people come for. */
export const Home = () => {
  useEffect(() => go(to('imports'), {replace: true}), [])
  return null
}
