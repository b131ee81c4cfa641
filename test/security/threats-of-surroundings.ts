import type {Threat} from './threats-of-callers.ts'

export const ofSurroundings: Record<string, Threat> = {
  S9: {
    threat: 'an address that leads the service into its own network',
    goal: 'none of some seventy spellings reaches anything',
    held: {
      'spellings of this machine and of the metadata': [
        ['test/shared/schedules/outbound/guard.test.ts', 'a loopback or metadata address is refused in every notation'],
      ],
      'names that lead inside, at once or at the second look': [
        ['test/shared/schedules/outbound/guard.test.ts', 'a name with one private address among public ones is refused'],
        ['test/shared/schedules/outbound/guard.test.ts', 'a name is resolved once per connection, so DNS rebinding reaches nothing'],
      ],
      redirects: [
        ['test/shared/schedules/outbound/guard.test.ts', 'a redirect is not followed, and that of a private host is not quoted'],
        ['test/shared/crm/record-calls.test.ts', "row: '15 moved'"],
        ['test/shared/crm/generic.test.ts', 'no redirect followed'],
      ],
      'hosts of the CRM: of the table alone, whoever names them': [
        ['test/shared/people.test.ts', 'only listed hosts are sign-in hosts, and only hosts of the data centre are its API'],
        ['test/api/sign-in-faults.test.ts', 'an unlisted API host in a token answer is refused'],
        ['test/shared/crm/grant.test.ts', 'row 33: a host outside the data centre is never called'],
        ['test/shared/crm/bulk-write.test.ts', 'the result is downloaded from hosts of the CRM only, and the token goes to no other'],
        ['test/api/sign-in.test.ts', 'an unknown data centre is refused with issues'],
      ],
      'destinations that an org describes': [
        ['test/shared/crm/generic.test.ts', 'origins must be https, or http on the local host, and nothing more than an origin'],
        ['test/shared/crm/generic.test.ts', 'a destination whose origin the operator removed is not called'],
      ],
      'where browsers are sent back to': [
        ['test/api/billing-checkout.test.ts', 'redirects go to allowed origins only, and look-alike addresses are refused'],
        ['test/shared/people.test.ts', 'an address that only resembles an allowed origin is refused'],
      ],
      'hooks, files, documents of clients': [
        ['test/workers/webhooks.test.ts', 'a redirect fails and is not followed'],
        ['test/shared/schedules/fetch/https.test.ts', 'an unlisted host and a host that is not public are not called'],
        ['test/shared/schedules/fetch/sftp.test.ts', 'a server that is not public or not listed gets no sign-in'],
        ['test/shared/schedules/fetch/s3.test.ts', 'a store that is not public or not listed is not called'],
        ['test/api/oauth-clients.test.ts', 'a client id cannot make the service call its own network'],
      ],
    },
  },
  S10: {
    threat: 'a string that becomes a part of a statement, of a header or of a query of the CRM',
    goal: 'no statement contains the input, for every string of every route',
    held: {
      'every string of every route, against what Postgres is sent': [
        ['test/security/routes.test.ts', 'a probe in any string of any route appears in no SQL statement, header or error message'],
      ],
      'probes are told from other ids by nothing': [
        ['test/security/routes.test.ts', 'an id with a probe gets the same answer as an unknown id'],
      ],
      'SQL stands in one folder': [['test/boundaries.test.ts', 'sqlText']],
      'queries of the CRM': [
        ['test/shared/crm/coql.test.ts', 'quotes, backslashes and other scripts are ordinary values'],
        ['test/shared/crm/coql.test.ts', 'only valid names go into a query unquoted'],
      ],
    },
  },
  S11: {
    threat: 'invalid JSON, or JSON that changes the prototype of every object',
    goal: 'one decided answer for each of some seventy texts; no prototype changed; strings unchanged',
    held: {
      'what is taken, refused and wrong': [
        ['test/security/routes.test.ts', 'hostile JSON gets the decided answer and changes no prototype'],
        ['test/api/envelope.test.ts', 'malformed and dangerous JSON is refused with 400'],
        ['test/api/mcp-attacks.test.ts', 'unknown tools and malformed MCP requests cause no server error'],
      ],
      'names that every object has': [
        ['test/security/routes.test.ts', 'property names that every object has are accepted like any other name'],
        ['test/shared/expressions/sandbox.test.ts', 'an expression may have the name of a method of every object'],
      ],
      'naughty strings come back as they went in': [
        ['test/api/naughty-strings.test.ts', 'cells with naughty strings reach the CRM and the results unchanged'],
      ],
    },
  },
  S12: {
    threat: 'an unexpected request',
    goal: 'no failure and no undeclared answer in fifty thousand (`npm run fuzz`); a smaller share here',
    held: {
      'drawn from the schemas, good, bent and broken': [
        ['test/api/fuzz.test.ts', 'requests drawn from the route table are answered as declared'],
      ],
      'every answer of every test is held against its declaration': [
        ['test/support/deployment.ts', 'every answer of the test fits what its route declares'],
      ],
    },
  },
  S13: {
    threat: 'a ciphertext moved elsewhere, and a key that cannot be removed',
    goal: 'none opens elsewhere; nothing fails during a key rotation; the old key can be removed',
    held: {
      'exchanged between rows and columns': [
        ['test/security/s13-sealed.test.ts', 'ciphertexts exchanged between rows or columns cannot be opened'],
        ['test/shared/security/secrets.test.ts', 'a secret with any changed byte cannot be decrypted'],
      ],
      'sealed columns are a closed list': [['test/security/s13-sealed.test.ts', 'sealed values are stored in these columns and no others']],
      'turned while everything is used': [
        ['test/security/s13-sealed.test.ts', 'keys are rotated during use without a failure, and the old key can then be removed'],
        ['test/shared/crm/reseal.test.ts', 'a renewal in progress is waited for, and its token is kept'],
      ],
      'nothing of it plain in a dump': [
        [
          'test/security/s03-secrets.test.ts',
          'secrets are stored in no table, and logs contain neither secrets nor text that people wrote',
        ],
      ],
    },
  },
  S14: {
    threat: 'personal data or secrets in a log, a trace or a model prompt',
    goal: 'none of ten thousand canaries',
    held: {
      'ten thousand cells and every kind of secret, in the logs of API and workers': [
        [
          'test/security/s03-secrets.test.ts',
          'secrets are stored in no table, and logs contain neither secrets nor text that people wrote',
        ],
        ['test/api/server.test.ts', 'the log contains no secret and no customer data, even at its most verbose level'],
        ['test/shared/crm/grant.test.ts', 'neither tokens nor values reach the log'],
      ],
      'what a model is sent': [
        ['test/api/ai-canaries.test.ts', 'personal cells leave by no route, and permitted cells do leave'],
        ['test/api/chat-canaries.test.ts', 'personal cells leave by no question, tool or replay, and permitted cells do leave'],
      ],
      'traces and figures': [
        ['test/shared/telemetry/tracing.test.ts', 'a failed span has the name of its error, and not the message'],
        ['test/api/metrics.test.ts', 'no label names a customer, a person, a module or an id'],
      ],
      'failures nobody foresaw': [['test/api/envelope.test.ts', 'an unexpected error is a 500 with its request id and no details']],
    },
  },
  S15: {
    threat: 'a forged webhook, redirect, message or request of a browser',
    goal: 'no forged one counts, and each real one counts once',
    held: {
      'signed over its bytes, within five minutes': [
        ['test/api/billing-webhook.test.ts', 'only events signed with our secret within five minutes are kept, exactly as sent'],
      ],
      'a thousand times, and in any order': [
        ['test/workers/billing-events.test.ts', 'a thousand repeated deliveries'],
        ['test/workers/billing-orders.test.ts', 'in all 120 orders of five subscription events'],
      ],
      'state: once, for ten minutes, of this browser, ours': [
        ['test/api/sign-in.test.ts', 'a sign-in can be completed once'],
        ['test/api/sign-in.test.ts', 'a sign-in expires after ten minutes'],
        ['test/api/sign-in.test.ts', 'another browser cannot finish a sign-in, and does not break it'],
        ['test/api/sign-in.test.ts', 'a state with a wrong signature is refused'],
        ['test/api/connection.test.ts', 'a consent cannot be completed from another browser'],
      ],
      'the session cookie: requests of our own pages only': [
        ['test/security/csrf.test.ts', 'a request of our own page changes something; the same request from elsewhere changes nothing'],
        ['test/security/csrf.test.ts', 'a form that another site submits changes nothing'],
        ['test/security/csrf.test.ts', 'a read needs the CSRF header too, so a link or an image of another site reads nothing'],
        ['test/security/csrf.test.ts', 'a bearer token takes precedence over the cookie, and an invalid one is not replaced by it'],
      ],
      PKCE: [
        ['test/api/sign-in.test.ts', 'the sign-in is protected by PKCE, a signed state and a cookie that scripts cannot read'],
        ['test/api/oauth-attacks.test.ts', 'a ban, a closed org or a lost membership between page, code and token refuses the token'],
      ],
      'embedded imports: one origin in the policy, and messages of that page only': [
        ['test/browser/embed-origins.browser.ts', 'no other page can be framed, and the embedded page only by its origin'],
        ['test/browser/embed-origins.browser.ts', 'a page of an origin that the org does not list gets neither a frame nor a token'],
        ['test/browser/embed-origins.browser.ts', 'the frame takes a token only from the page that embeds it'],
        ['test/browser/embed-origins.browser.ts', 'the embedded page alone in a window does nothing'],
      ],
      'messages to the exact origin': [
        ['test/api/sign-in.test.ts', 'the page sends the token only to the origin where the sign-in began'],
        ['test/shared/people.test.ts', 'an address that only resembles an allowed origin is refused'],
      ],
    },
  },
  S16: {
    threat: 'fifty concurrent requests of which one may succeed',
    goal: 'one of fifty succeeds, each time',
    held: {
      accepts: [
        [
          'test/api/invitation-races.test.ts',
          'of fifty concurrent accepts one wins, with one membership and one change; the others get INVITATION_USED',
        ],
      ],
      takes: [['test/workers/record-claims-races.test.ts', 'of fifty rows that claim one record at once, one gets it']],
      credits: [['test/shared/billing/credits/ledger.test.ts', 'of 200 concurrent reservations against 10 credits exactly 10 succeed']],
      'changes of a plan': [
        ['test/security/s16-races.test.ts', 'of fifty concurrent plan changes one is charged, and the others change nothing'],
      ],
      configuration: [
        ['test/api/registry.test.ts', 'of a hundred writes against one version one succeeds; the others get the current version'],
      ],
    },
  },
  S17: {
    threat: 'a missing check in one route',
    goal: 'every route by every kind of bearer',
    held: {
      'role by bearer by route': [
        ['test/access.test.ts', 'by the permission table`, async t => walk(t, await make()))'],
        ['test/access.test.ts', 'every route has a row in the permission table, and every row has a route'],
      ],
      'an embed token: one template, its own imports and its rows': [
        ['test/api/embed-tokens.test.ts', 'the path of every route that admits an embed token names the import that the gate checks'],
        ['test/api/embed-tokens.test.ts', 'a token reads its own imports only, not those of its creator or of another token'],
        ['test/api/embed-tokens.test.ts', 'columns can be chosen for the fields of the template, and nothing else of its flows'],
        ['test/api/embed-tokens.test.ts', 'runs that start at the same time share the rows of their token'],
        ['test/api/embed-tokens.test.ts', 'a token ends with its time, its API token and its origin'],
      ],
      'access that would outlive a staff view': [['test/api/staff-view.test.ts', 'a write view cannot create access that outlives it']],
      'headers that keep answers private and to this origin': [
        ['test/api/security-headers.test.ts', 'every answer has headers that restrict browsers to this origin'],
        ['test/api/security-headers.test.ts', 'a request with two Host headers is refused'],
      ],
      'keys of its own wherever others reach a process': [
        ['test/shared/security/key-safety.test.ts', 'a process reachable by others needs its own keys: '],
      ],
      'maintenance before all of it': [
        ['test/security/routes.test.ts', 'every route in maintenance refuses a request before reading it, for every caller'],
        ['test/api/maintenance.test.ts', 'during maintenance the operator may delete a person; every other request is refused'],
      ],
      'views of staff, and what is for a person alone': [
        [
          'test/api/staff-view.test.ts',
          'the routes that act for a person are refresh, sign-out, switching orgs, approvals, tokens, invitations and grants',
        ],
        ['test/api/staff-view.test.ts', 'every write in a view is recorded once with its author; reads and refusals are not'],
      ],
    },
  },
  S18: {
    threat: 'a package that was changed',
    goal: 'every package locked by its digest, scripts and licences of closed lists',
    held: {
      'locked, and of the registry': [
        ['test/security/s18-packages.test.ts', 'every package comes from the registry, with the digest it was locked with'],
      ],
      'scripts at install': [['test/security/s18-packages.test.ts', 'install scripts are listed, and none runs in production']],
      licences: [['test/security/s18-packages.test.ts', 'package licences are on a closed list']],
    },
  },
}
