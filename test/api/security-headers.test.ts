import test from 'ava'
import {securityHeaders} from '../../api/security-headers.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let owner: ReturnType<TestDeployment['as']>
const path = '/auth/me'

test.before(async t => {
  house = await startTestDeployment(t)
  owner = house.as((await house.makeOrg()).token)
})

test('a request with two Host headers is refused', async t => {
  const {host} = new URL(house.url)
  for (const second of [host, 'other.example']) {
    const half = openHalfRequest(house.url)
    half.send(`GET /health HTTP/1.1\r\nhost: ${host}\r\nHOST: ${second}\r\nconnection: close\r\n\r\n`)
    const {status, body} = readAnswer(await half.answer)
    t.like({status, ...body}, {status: 400, code: 'INVALID'})
  }
})

test('every answer has headers that restrict browsers to this origin', async t => {
  for (const answer of [await owner('GET', path), await owner('GET', '/nothing'), await house.as(null)('GET', '/')]) {
    t.is(answer.headers.get('cross-origin-resource-policy'), 'same-origin')
    t.is(answer.headers.get('cross-origin-opener-policy'), 'same-origin-allow-popups')
    t.regex(answer.headers.get('permissions-policy')!, /camera=\(\).*microphone=\(\)/)
    t.is(answer.headers.get('strict-transport-security'), null, 'no https')
  }
  const popup = await house.as(null)('GET', '/auth/zoho/callback')
  t.is(popup.headers.get('cross-origin-opener-policy'), 'unsafe-none', 'it posts to the window that opened it')
  const secure = (HSTS_SECONDS: number) => securityHeaders({PUBLIC_URL: 'https://lading.example', HSTS_SECONDS})('/health')
  t.is(secure(31_536_000)['strict-transport-security'], 'max-age=31536000')
  t.false('strict-transport-security' in secure(0))
})
