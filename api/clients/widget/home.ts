import {useEffect} from 'preact/hooks'
import {go, to} from './state/place.ts'

export const Home = () => {
  useEffect(() => go(to('imports'), {replace: true}), [])
  return null
}
