import type {Threat} from './threats-of-callers.ts'

export const ofSurroundings: Record<string, Threat> = {
  S9: {
    threat: 'an address that leads the service into its own house',
    goal: 'nothing reached, by some seventy spellings',
    held: {
      'spellings of this machine and of the metadata': [
        ['test/shared/outbound/guard.test.ts', 'however a loopback or metadata address is spelt, nothing is reached'],
      ],
      'names that lead inside, at once or at the second look': [
        ['test/shared/outbound/guard.test.ts', 'one inside address among public ones refuses the name'],
        ['test/shared/outbound/guard.test.ts', 'one that leads inside at the second look reaches nothing'],
      ],
      redirects: [
        ['test/shared/outbound/guard.test.ts', 'a redirect is not followed, wherever it leads'],
        ['test/shared/crm/records.test.ts', "row: '15 moved'"],
        ['test/shared/crm/generic.test.ts', 'no redirect followed'],
      ],
      'hosts of the CRM: of the table alone, whoever names them': [
        ['test/shared/people.test.ts', 'only the table is taken for a sign-in host'],
        ['test/api/sign-in-faults.test.ts', 'an API host outside the table is refused, whoever names it'],
        ['test/shared/crm/grant.test.ts', 'row 33 a host that is not of the data centre is never called'],
        ['test/api/sign-in.test.ts', 'an unknown data centre is a 400 with issues'],
      ],
      'destinations that an org describes': [
        ['test/shared/crm/generic.test.ts', 'origins are https, or http for what runs beside us, and nothing but origins'],
        ['test/shared/crm/generic.test.ts', 'an origin the operator has struck from the list is not called any more'],
      ],
      'where browsers are sent back to': [
        ['test/api/billing-checkout.test.ts', 'browsers are sent to allowed origins, and to nothing that looks like one'],
        ['test/shared/people.test.ts', 'what only looks like an allowed origin is not'],
      ],
      'hooks, files, documents of clients': [
        ['test/workers/notices.test.ts', 'a redirect fails and leads nowhere'],
        ['test/shared/fetch-source/https.test.ts', 'a host the operator has not listed is not asked, and one that is not public neither'],
        ['test/shared/fetch-source/sftp.test.ts', 'a server that is not public, or not listed, is not signed in to'],
        ['test/shared/fetch-source/s3.test.ts', 'a store that is not public, or not listed, is not asked'],
        ['test/api/oauth-clients.test.ts', 'no client id makes the house call its own network'],
      ],
    },
  },
  S10: {
    threat: 'a string that becomes a part of a statement, of a header or of a query of the CRM',
    goal: 'no statement that holds what was sent, over every string of every route',
    held: {
      'every string of every route, against what Postgres is sent': [
        ['test/security/routes.test.ts', 'whatever string of whatever route a probe stands in, no statement, header or failure has it'],
      ],
      'probes are told from other ids by nothing': [
        ['test/security/routes.test.ts', 'an id that is a probe is told from one nobody has by nothing'],
      ],
      'SQL stands in one folder': [['test/boundaries.test.ts', 'sqlText']],
      'queries of the CRM': [
        ['test/shared/crm/coql.test.ts', 'quotes, backslashes and other scripts are values like any other'],
        ['test/shared/crm/coql.test.ts', 'only names go into a query unquoted'],
      ],
    },
  },
  S11: {
    threat: 'JSON that is none, or that changes what every object has',
    goal: 'one decided answer for each of some seventy texts; nothing of ours changed; strings as they were',
    held: {
      'what is taken, refused and wrong': [
        ['test/security/routes.test.ts', 'hostile JSON has the answer that is decided for it, and leaves nothing'],
        ['test/api/envelope.test.ts', 'what is not JSON, or would hurt further in, is a 400'],
        ['test/api/mcp-attacks.test.ts', 'what no tool is called, and what no client sends, breaks nothing'],
      ],
      'names that every object has': [
        ['test/security/routes.test.ts', 'names that every object has are names like any other, wherever people choose them'],
        ['test/shared/expressions/sandbox.test.ts', 'an expression may have the name of a method that every object has'],
      ],
      'naughty strings come back as they went in': [['test/api/naughty-strings.test.ts', 'cells of a file']],
    },
  },
  S12: {
    threat: 'a request nobody thought of',
    goal: 'no failure and no undeclared answer in fifty thousand (`npm run fuzz`); a smaller share here',
    held: {
      'drawn from the schemas, good, bent and broken': [
        ['test/api/fuzz.test.ts', 'requests drawn from the route table are answered as declared'],
      ],
      'every answer of every test is held against its declaration': [
        ['test/deployment.ts', 'every answer of the test fits what its route declares'],
      ],
    },
  },
  S13: {
    threat: 'a ciphertext moved elsewhere, and a key that cannot be let go',
    goal: 'none opens elsewhere; nothing fails while keys are turned; the old key can go',
    held: {
      'exchanged between rows and columns': [
        ['test/security/s13-sealed.test.ts', 'the ciphertexts of two rows or columns, exchanged, open in neither'],
        ['test/shared/secrets.test.ts', 'no byte of a sealed secret can be changed'],
      ],
      'sealed columns are a closed list': [['test/security/s13-sealed.test.ts', 'what is sealed stands in these columns and no others']],
      'turned while everything is used': [
        ['test/security/s13-sealed.test.ts', 'keys are turned while everything is used: nothing fails, and the old key may go'],
        ['test/shared/crm/reseal.test.ts', 'a renewal under way is waited for, and its token is the one that is kept'],
      ],
      'nothing of it plain in a dump': [
        ['test/security/s03-secrets.test.ts', 'what lets somebody in is in no table, and in no log beside what people wrote'],
      ],
    },
  },
  S14: {
    threat: 'a log, a trace or a model that hears what is nobody’s business',
    goal: 'none of ten thousand canaries',
    held: {
      'ten thousand cells and every kind of secret, in the logs of API and workers': [
        ['test/security/s03-secrets.test.ts', 'what lets somebody in is in no table, and in no log beside what people wrote'],
        ['test/api/server.test.ts', 'nothing secret and nothing of a customer’s is ever in the log'],
        ['test/shared/crm/grant.test.ts', 'neither tokens nor values reach the log'],
      ],
      'what a model is sent': [
        ['test/api/ai-canaries.test.ts', 'no trace of any personal cell leaves, by whatever way, and what may leave does'],
        ['test/api/chat-canaries.test.ts', 'no trace of any personal cell leaves by a question, its tools or what was said before'],
      ],
      'traces and figures': [
        ['test/shared/tracing.test.ts', 'a step that throws is told by the name of its error, and its message stays here'],
        ['test/api/metrics.test.ts', 'no label names a customer, a person, a module or an id'],
      ],
      'failures nobody foresaw': [
        ['test/api/envelope.test.ts', 'what nobody foresaw is a 500 that tells its request and nothing of itself'],
      ],
    },
  },
  S15: {
    threat: 'a webhook, a return or a message that somebody else made',
    goal: 'none counts; each counts once',
    held: {
      'signed over its bytes, within five minutes': [
        ['test/api/billing-webhook.test.ts', 'only what was signed with a secret of ours in the last five minutes is kept'],
      ],
      'a thousand times, and in any order': [
        ['test/workers/billing-events.test.ts', 'a thousand deliveries of what was told before'],
        ['test/workers/billing-orders.test.ts', 'in each of the 120 orders that five events of a subscription can come in'],
      ],
      'state: once, for ten minutes, of this browser, ours': [
        ['test/api/sign-in.test.ts', 'a sign-in is good once'],
        ['test/api/sign-in.test.ts', 'a sign-in is good for ten minutes'],
        ['test/api/sign-in.test.ts', 'another browser cannot finish a sign-in, and does not spoil it'],
        ['test/api/sign-in.test.ts', 'a state we did not sign is refused'],
        ['test/api/connection.test.ts', 'someone else’s browser cannot be made to give its CRM away'],
      ],
      PKCE: [
        ['test/api/sign-in.test.ts', 'the visit is protected by PKCE, a signed state and a cookie that scripts cannot read'],
        ['test/api/oauth-attacks.test.ts', 'what changes between the page, the code and the token counts'],
      ],
      'messages to the exact origin': [
        ['test/api/sign-in.test.ts', 'the page hands the token to the exact origin the sign-in began with'],
        ['test/shared/people.test.ts', 'what only looks like an allowed origin is not'],
      ],
    },
  },
  S16: {
    threat: 'fifty who do at once what one may do',
    goal: 'one of fifty, each time',
    held: {
      accepts: [['test/api/invitation-races.test.ts', 'of fifty accepts at once one wins']],
      takes: [['test/api/takes-races.test.ts', 'fifty rows ask for one record at once: one gets it']],
      credits: [['test/shared/credits/ledger.test.ts', '200 reservations at once against 10 credits: exactly 10']],
      'changes of a plan': [
        ['test/security/s16-races.test.ts', 'of fifty changes of a plan at once one is charged for, and the others change nothing'],
      ],
      configuration: [
        ['test/api/registry.test.ts', 'a hundred writes against one version: one is made, ninety-nine are told the version that is'],
      ],
    },
  },
  S17: {
    threat: 'a gate that one route has not got',
    goal: 'every route by every kind of bearer',
    held: {
      'role by bearer by route': [
        ['test/access.test.ts', 'test.serial(what, async t => walk(t, await make()))'],
        ['test/access.test.ts', 'every route has a row that says who may, and every row a route'],
      ],
      'access that would outlive a staff view': [
        ['test/api/staff-view.test.ts', 'a view that may write cannot create access that outlives it'],
      ],
      'headers that keep answers private and to this origin': [
        ['test/api/security-headers.test.ts', 'every answer tells browsers to keep it to themselves and to this origin'],
        ['test/api/security-headers.test.ts', 'two Host headers are refused'],
      ],
      'keys of its own wherever others reach a process': [
        ['test/shared/exposure.test.ts', 'a process that others reach starts with keys of its own alone'],
      ],
      'maintenance before all of it': [
        ['test/security/routes.test.ts', 'in maintenance every route is shut before anything of the request is looked at, whoever asks'],
        [
          'test/api/maintenance.test.ts',
          'the operator may delete a person during maintenance; nobody else may, and the operator nothing else',
        ],
      ],
      'views of staff, and what is for a person alone': [
        ['test/api/staff-view.test.ts', 'what acts for a person is exactly refresh'],
        ['test/api/staff-view.test.ts', 'every write in a view is one line that names who and what; reads and refusals are none'],
      ],
    },
  },
  S18: {
    threat: 'a package that is not what it was',
    goal: 'every package locked by its digest, scripts and licences of closed lists',
    held: {
      'locked, and of the registry': [
        ['test/security/s18-packages.test.ts', 'every package is of the registry, and what it was when it was locked'],
      ],
      'scripts at install': [
        ['test/security/s18-packages.test.ts', 'who may run something as it is installed is said, and nothing of it runs in production'],
      ],
      licences: [['test/security/s18-packages.test.ts', 'licences are of a closed list']],
    },
  },
}
