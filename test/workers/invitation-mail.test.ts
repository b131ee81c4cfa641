import test from 'ava'
import {type Smtp, startSmtp} from '../simulators/smtp.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let smtp: Smtp
test.before(async t => {
  smtp = await startSmtp()
  const environment = {SMTP_URL: smtp.url, MAIL_FROM: 'Lading <notices@lading.example>'}
  house = await startTestDeployment(t, {workers: ['notices'], environment})
})
test.after.always(() => smtp.stop())

const lettersTo = (address: string) => smtp.letters.filter(({to}) => to.includes(address))
const invitationJobs = async (states: string[]) =>
  (await house.hot.query(`select count(*) from pgboss.job where name = 'invitation.mail' and state::text = any($1)`, [states])).rows[0]
    .count

test.serial('an invited person gets one e-mail with the place to sign in, although the invitation is renewed', async t => {
  const {org, token} = await house.makeOrg()
  const call = house.as(token)
  const invite = (role: string) => ok(call('POST', `/orgs/${org}/invitations`, {email: 'zoe@other.example', role}), 201)
  t.true((await invite('operator')).isMailed)
  const [letter] = await until(
    async () => lettersTo('zoe@other.example'),
    ({length}) => length > 0,
  )
  const {org: own} = await ok(call('GET', `/orgs/${org}`), 200)
  t.true(letter!.text.includes(`${own.name} invites you to import data with Lading, as operator.`))
  t.true(letter!.text.replaceAll(/=\n/g, '').includes(house.config.PUBLIC_URL))
  await until(
    () => house.hot.query('select mailed_at from invitations where org_id = $1', [org]),
    ({rows}) => rows[0].mailed_at !== null,
  )
  t.false((await invite('builder')).isMailed, 'the person has had a mail within the hour')
  await until(
    () => invitationJobs(['created', 'active', 'retry']),
    count => Number(count) === 0,
  )
  t.is(lettersTo('zoe@other.example').length, 1)
})

test.serial('an invitation beyond the mails that an org may send in a day says that no e-mail is sent', async t => {
  const {org, token} = await house.makeOrg()
  await house.hot.query(
    `insert into invitations (id, org_id, email, role, expires_at, mailed_at)
    select 'inv_mailed_' || n, $1, n || '@other.example', 'operator', lading_now(), lading_now() from generate_series(1, 100) n`,
    [org],
  )
  const invite = () => ok(house.as(token)('POST', `/orgs/${org}/invitations`, {email: 'many@other.example', role: 'operator'}), 201)
  t.false((await invite()).isMailed)
  await house.hot.query(`update invitations set mailed_at = null where id = 'inv_mailed_1'`)
  await house.hot.query(`update invitations set mail_queued_at = lading_now() where id = 'inv_mailed_1'`)
  t.false((await invite()).isMailed, 'the last e-mail of the day waits for the mail server')
  await house.hot.query(`update invitations set mail_queued_at = null where id = 'inv_mailed_1'`)
  t.true((await invite()).isMailed)
  await until(
    () => lettersTo('many@other.example').length,
    count => count === 1,
  )
})

test.serial('an invitation whose e-mail was refused for ever no longer counts as an e-mail of the day', async t => {
  const {org, token} = await house.makeOrg()
  smtp.refuse('bad@other.example', '550 no such mailbox')
  const invited = await ok(house.as(token)('POST', `/orgs/${org}/invitations`, {email: 'bad@other.example', role: 'operator'}), 201)
  t.true(invited.isMailed)
  await until(
    () => invitationJobs(['created', 'active', 'retry']),
    count => Number(count) === 0,
  )
  const {rows} = await house.hot.query('select mailed_at, mail_queued_at from invitations where org_id = $1', [org])
  t.deepEqual(rows, [{mailed_at: null, mail_queued_at: null}])
})

/** Invites an address while the mail server refuses `refused`. Waits until the job waits for its next try. */
const inviteLate = async (email: string, {refused = email, reply = '450 try again later'} = {}) => {
  const {org, token} = await house.makeOrg()
  const call = house.as(token)
  smtp.refuse(refused, reply)
  const {invitation} = await ok(call('POST', `/orgs/${org}/invitations`, {email, role: 'operator'}), 201)
  await until(
    () => invitationJobs(['retry']),
    count => Number(count) === 1,
  )
  smtp.refuse(refused, null)
  return {withdraw: () => ok(call('DELETE', `/orgs/${org}/invitations/${invitation.id}`), 200)}
}

const retryNow = async () => {
  await house.hot.query(`update pgboss.job set start_after = now() where name = 'invitation.mail' and state = 'retry'`)
  await until(
    () => invitationJobs(['created', 'active', 'retry']),
    count => Number(count) === 0,
  )
}

test.serial('an invitation that the mail server refuses for now is sent later', async t => {
  await inviteLate('late@other.example')
  await retryNow()
  t.is(lettersTo('late@other.example').length, 1)
})

test.serial('an invitation whose sender the mail server refuses is sent once the server accepts the sender', async t => {
  await inviteLate('sender@other.example', {refused: 'notices@lading.example', reply: '550 5.7.1 sender not allowed'})
  await retryNow()
  t.is(lettersTo('sender@other.example').length, 1)
})

test.serial('an invitation that was withdrawn meanwhile is not sent', async t => {
  const {withdraw} = await inviteLate('gone@other.example')
  await withdraw()
  await retryNow()
  t.deepEqual(lettersTo('gone@other.example'), [])
  const {rowCount} = await house.hot.query(`select from invitations where email = 'gone@other.example' and mail_queued_at is not null`)
  t.is(rowCount, 0)
})
