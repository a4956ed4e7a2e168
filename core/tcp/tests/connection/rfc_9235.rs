//! The test vectors of RFC 9235, sections 4 to 7: whole packets with their
//! traffic keys and codes. Their checksums are checked too, so that a slip of
//! the hand would show: those of IPv4's header and of TCP over IPv6. The TCP
//! checksums over IPv4 are not right in the RFC.

use gigatcp_tcp::FourTuple;
use gigatcp_tcp::authentication::{Algorithm, Direction, MasterKey};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Endpoints, FIXED_HEADER_LEN, Flags, IpHeader, SeqNumber, authentication_place, decode_header,
    verify_checksum,
};

/// One section: its packets are a SYN, its SYN-ACK, data, and the answer.
struct Section {
    name: &'static str,
    algorithm: Algorithm,
    covers_options: bool,
    client_isn: u32,
    server_isn: u32,
    /// Octets of each packet up to its text, and its traffic key.
    packets: [(&'static str, &'static str); 4],
}

const SHA1: Algorithm = Algorithm::HmacSha1;
const AES: Algorithm = Algorithm::Aes128Cmac;

/// RFC 9235 section 3.1.1.
const SECRET: &[u8] = b"testvector";
const CLIENT_KEY_ID: u8 = 61;
const SERVER_KEY_ID: u8 = 84;

const SECTIONS: [Section; 8] = [
    Section {
        name: "4.1",
        algorithm: SHA1,
        covers_options: true,
        client_isn: 0xfbfb_ab5a,
        server_isn: 0x11c1_4261,
        packets: [
            (
                "45e0004cdd0f4000ff06bf6b0a0b0c0dac1b1c1de9d700b3fbfbab5a00000000e002ffffcac40000020405b4010303080402080a00155ab7000000001d103d542ee437c6f8ede6d7c4d602e7",
                "6d63ef1b02fe1509d4b1402707fd7b0416abb74f",
            ),
            (
                "45e0004c65064000ff063775ac1b1c1d0a0b0c0d00b3e9d711c14261fbfbab5be012ffff37760000020405b4010303080402080a84a50beb00155ab71d10543deeab0fe24c3010815116b3be",
                "d9e217e4834a80ca2f3fd8de2e41b8e6797fea96",
            ),
            (
                "45e0008736a14000ff06659f0a0b0c0dac1b1c1de9d700b3fbfbab5b11c14262c0180104a16200000101080a00155ac184a50beb1d103d547064cf998cc6c315c2c2e2bf",
                "d2e59c65ffc7b1a39347656463b70edc24a13d71",
            ),
            (
                "45e000871fa94000ff067c97ac1b1c1d0a0b0c0d00b3e9d711c14262fbfbab9ec0180100400c00000101080a84a50bf500155ac11d10543da63f0ecbbb2e635c954deac7",
                "d9e217e4834a80ca2f3fd8de2e41b8e6797fea96",
            ),
        ],
    },
    Section {
        name: "4.2",
        algorithm: SHA1,
        covers_options: false,
        client_isn: 0xcb0e_fbee,
        server_isn: 0xacd5_b5e1,
        packets: [
            (
                "45e0004c53994000ff0648e20a0b0c0dac1b1c1dff1200b3cb0efbee00000000e002ffff541f0000020405b4010303080402080a00024cce000000001d103d5480af3cfeb85368937b8f9ec2",
                "30eaa1560cf0be57dab5c045229fb10a423cd7ea",
            ),
            (
                "45e0004c32844000ff0669f7ac1b1c1d0a0b0c0d00b3ff12acd5b5e1cb0efbefe012ffff388e0000020405b4010303080402080a576772f300024cce1d10543d09306f9acea63a8c68cb9a70",
                "b5b2896bb3664e8176b0edc6e799524101a8307f",
            ),
            (
                "45e00087a8f54000ff06f34a0a0b0c0dac1b1c1dff1200b3cb0efbefacd5b5e2c01801046c4500000101080a00024cce576772f31d103d54710608cc696c03a271c93aa5",
                "f3db1793d7910ecd806c34f155ea1f00345953e3",
            ),
            (
                "45e0008754374000ff064809ac1b1c1d0a0b0c0d00b3ff12acd5b5e2cb0efc32c018010046b600000101080a576772f300024cce1d10543d97766e48ac262de9ae61b4f9",
                "b5b2896bb3664e8176b0edc6e799524101a8307f",
            ),
        ],
    },
    Section {
        name: "5.1",
        algorithm: AES,
        covers_options: true,
        client_isn: 0x787a_1ddf,
        server_isn: 0xfadd_6de9,
        packets: [
            (
                "45e0004c7b9f4000ff0620dc0a0b0c0dac1b1c1dc4fa00b3787a1ddf00000000e002ffff5a0f0000020405b4010303080402080a00017ed0000000001d103d54e477e99c8040765498e55091",
                "f5b8b3d5f34fdbb6eb8d4ab9660e60e3",
            ),
            (
                "45e0004c4bad4000ff0650ceac1b1c1d0a0b0c0d00b3c4fafadd6de9787a1de0e012fffff3f20000020405b4010303080402080a93f4e9e800017ed01d10543dd6ada7bc4cdd536d1769db5f",
                "4bc7571a486f3264bbd888474066b4b1",
            ),
            (
                "45e00087fb4f4000ff06a0f00a0b0c0dac1b1c1dc4fa00b3787a1de0fadd6deac0180104950500000101080a00017ed093f4e9e81d103d5477412742fa4dc433eff0973e",
                "8c8ae0e8371ec5cbb97ea79d90418391",
            ),
            (
                "45e00087b9144000ff06e32bac1b1c1d0a0b0c0d00b3c4fafadd6dea787a1e23c0180100e7db00000101080a93f4e9e800017ed01d10543df6d965a78382a74845f72dac",
                "4bc7571a486f3264bbd888474066b4b1",
            ),
        ],
    },
    Section {
        name: "5.2",
        algorithm: AES,
        covers_options: false,
        client_isn: 0x389b_ed71,
        server_isn: 0xd384_4a6f,
        packets: [
            (
                "45e0004cf22e4000ff06aa4c0a0b0c0dac1b1c1dda1c00b3389bed7100000000e002ffff70bf0000020405b4010303080402080a000185e1000000001d103d54c44e60cb31f7c0b1de3d2749",
                "2cdbae1392c49449fa92c4509735d50e",
            ),
            (
                "45e0004c6cc04000ff062fbbac1b1c1d0a0b0c0d00b3da1cd3844a6f389bed72e012ffffe4450000020405b4010303080402080ace459838000185e11d10543d3a6abb207e49b1be7136db90",
                "3ce67a551869506b6347b633c50a624a",
            ),
            (
                "45e00087ee914000ff06adae0a0b0c0dac1b1c1dda1c00b3389bed72d3844a70c0180104885100000101080a000185e1ce4598381d103d547585e9e9d5c3ec857b96f837",
                "035bc400a341ffe595f59f58005006ca",
            ),
            (
                "45e000876a214000ff06321fac1b1c1d0a0b0c0d00b3da1cd3844a70389bed72c0180100044900000101080ace459838000185e11d10543d5c040fd9233304765c0982f4",
                "3ce67a551869506b6347b633c50a624a",
            ),
        ],
    },
    Section {
        name: "6.1",
        algorithm: SHA1,
        covers_options: true,
        client_isn: 0x176a_833f,
        server_isn: 0x3f51_994b,
        packets: [
            (
                "6e0891dc00380640fd000000000000000000000000000001fd000000000000000000000000000002f7e400b3176a833f00000000e002ffff47210000020405a0010303080402080a0041d087000000001d103d549033ec3d7334b64c5edd039f",
                "625ec09d575836edc9b6428418bbf06989a361bb",
            ),
            (
                "6e01009e00380640fd000000000000000000000000000002fd00000000000000000000000000000100b3f7e43f51994b176a8340e012ffffbfec0000020405a0010303080402080abd33129b0041d0871d10543df1cba346c3526163f71f1f55",
                "e4a37ada2a0afca8711434913fe138c771ebcb4a",
            ),
            (
                "6e0891dc00730640fd000000000000000000000000000001fd000000000000000000000000000002f7e400b3176a83403f51994cc0180100329c00000101080a0041d091bd33129b1d103d54bf0805feb4ac7b163d6fcdf2",
                "1ed82975f4ea444c61580c5bd90dbd61bbc91b7e",
            ),
            (
                "6e01009e00730640fd000000000000000000000000000002fd00000000000000000000000000000100b3f7e43f51994c176a8383c0180100ee6e00000101080abd3312a50041d0911d10543d6c48125c11335bab9a07a797",
                "e4a37ada2a0afca8711434913fe138c771ebcb4a",
            ),
        ],
    },
    Section {
        name: "6.2",
        algorithm: SHA1,
        covers_options: false,
        client_isn: 0x020c_1e69,
        server_isn: 0xeba3_734d,
        packets: [
            (
                "6e078fcd00380640fd000000000000000000000000000001fd000000000000000000000000000002c6cd00b3020c1e6900000000e002ffffa41a0000020405a0010303080402080a009db95b000000001d103d54885698b0530ed4d5a15f8346",
                "31a3faf69effae52931b7f845467315c270a4edc",
            ),
            (
                "6e0a7e1f00380640fd000000000000000000000000000002fd00000000000000000000000000000100b3c6cdeba3734d020c1e6ae012ffff774d0000020405a0010303080402080a5ec99b70009db95b1d10543d3c546bad9743f12df8b8010d",
                "405108947f996575e7bdbc26d40216a2c7fa91bd",
            ),
            (
                "6e078fcd00730640fd000000000000000000000000000001fd000000000000000000000000000002c6cd00b3020c1e6aeba3734ec018010083e600000101080a009db9655ec99b701d103d5448bd093b1924e001192f5bf0",
                "b34eed6a9396a669f1c4f4f57618f3656f52c7ab",
            ),
            (
                "6e0a7e1f00730640fd000000000000000000000000000002fd00000000000000000000000000000100b3c6cdeba3734e020c1eadc0180100716a00000101080a5ec99b7a009db9651d10543d559a819445b4fde98d9e1317",
                "405108947f996575e7bdbc26d40216a2c7fa91bd",
            ),
        ],
    },
    Section {
        name: "7.1",
        algorithm: AES,
        covers_options: true,
        client_isn: 0x193c_ccec,
        server_isn: 0xa674_4ecb,
        packets: [
            (
                "6e04a70600380640fd000000000000000000000000000001fd000000000000000000000000000002f85a00b3193cccec00000000e002ffffde5d0000020405a0010303080402080a13e4ab99000000001d103d5459b588107481ac6dc3927040",
                "fa5a2108882d39d0c71929175ab1b7b8",
            ),
            (
                "6e06152000380640fd000000000000000000000000000002fd00000000000000000000000000000100b3f85aa6744ecb193cccede012ffffeabb0000020405a0010303080402080a71daabc813e4ab991d10543ddc2843a84e78a6bcfdc5ed80",
                "cf1b1e225e06a63616764a067b46f4b1",
            ),
            (
                "6e04a70600730640fd000000000000000000000000000001fd000000000000000000000000000002f85a00b3193ccceda6744eccc0180100328000000101080a13e4aba371daabc81d103d547b6a455c0d4f5f01835baab3",
                "6174c3557abed27574dba37185f00300",
            ),
            (
                "6e06152000730640fd000000000000000000000000000002fd00000000000000000000000000000100b3f85aa6744ecc193ccd30c018010052f400000101080a71daabd313e4aba31d10543dc1069b7dfd3d693a6df3f289",
                "cf1b1e225e06a63616764a067b46f4b1",
            ),
        ],
    },
    Section {
        name: "7.2",
        algorithm: AES,
        covers_options: false,
        client_isn: 0xb01d_a74a,
        server_isn: 0xa624_6145,
        packets: [
            (
                "6e093d7600380640fd000000000000000000000000000001fd000000000000000000000000000002f28800b3b01da74a00000000e002ffff75ff0000020405a0010303080402080a14275b3b000000001d103d543d45b4342de8bb1530847898",
                "a94f511263e4093d35dd818c13bbbf53",
            ),
            (
                "6e0c600a00380640fd000000000000000000000000000002fd00000000000000000000000000000100b3f288a6246145b01da74be012ffffa70c0000020405a0010303080402080a1782245b14275b3b1d10543d1d01f6c87c6f93acffa9d4b5",
                "92dea5bbc78b1d9f5b2952e9cd30642a",
            ),
            (
                "6e093d7600730640fd000000000000000000000000000001fd000000000000000000000000000002f28800b3b01da74ba6246146c0180100c36d00000101080a14275b4f1782245b1d103d54290cf414ccb47a333276e7f8",
                "4fb2086e402c679079ed65d4bf97693d",
            ),
            (
                "6e0c600a00730640fd000000000000000000000000000002fd00000000000000000000000000000100b3f288a6246146b01da78ec0180100345100000101080a1782246514275b4f1d10543d99515ffcd5403499f619fd1b",
                "92dea5bbc78b1d9f5b2952e9cd30642a",
            ),
        ],
    },
];

fn octets(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    let digits = |n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap();
    (0..hex.len() / 2).map(digits).collect()
}

/// The text of the data packets: a BGP OPEN of the sender.
fn open_message(v6: bool, from_client: bool) -> Vec<u8> {
    let (number, id) = match (v6, from_client) {
        (false, true) => ("dabf", "0a0b0c0d"),
        (false, false) => ("dac0", "ac1b1c1d"),
        (true, true) => ("fde8", "01010179"),
        (true, false) => ("fde8", "0101017a"),
    };
    octets(&format!(
        "{}00430104{number}00b4{id}26020601040001000102028000020202000202420002064104\
         0000{number}0208400600640001{}",
        "ff".repeat(16),
        "0100"
    ))
}

fn whole(section: &Section, index: usize) -> Vec<u8> {
    let mut packet = octets(section.packets[index].0);
    if index >= 2 {
        packet.extend(open_message(packet[0] >> 4 == 6, index == 2));
    }
    packet
}

/// Checks one packet; gives what stands in its IP header and its segment.
fn check(section: &Section, index: usize) -> (Endpoints, Vec<u8>) {
    let what = format!("section {} packet {index}", section.name);
    let packet = Bytes::from(whole(section, index));
    let (ip, payload) = IpHeader::decode(&packet).unwrap();
    assert_eq!(payload.start + payload.len, packet.len(), "{what}");
    let segment = packet[payload.start..].to_vec();
    // Those over IPv4 were captured before the card filled the checksum in.
    let is_v6 = matches!(ip.endpoints, Endpoints::V6 { .. });
    assert!(payload.header_checksum_is_valid, "{what}");
    assert_eq!(verify_checksum(&ip.endpoints, &segment), is_v6, "{what}");
    let (header, _) = decode_header::<Bytes>(&segment).unwrap();
    let from_client = index.is_multiple_of(2);
    let (sender, receiver) = if from_client {
        (section.client_isn, section.server_isn)
    } else {
        (section.server_isn, section.client_isn)
    };
    let first = header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK);
    let direction = Direction {
        tuple: FourTuple {
            endpoints: ip.endpoints,
            local_port: header.src_port,
            remote_port: header.dst_port,
        },
        sender_isn: SeqNumber::new(sender),
        receiver_isn: SeqNumber::new(if first { 0 } else { receiver }),
    };
    let key = MasterKey::new(CLIENT_KEY_ID, section.algorithm, SECRET)
        .covering_options(section.covers_options);
    let traffic_key = key.traffic_key(&direction);
    assert_eq!(
        traffic_key.as_slice(),
        octets(section.packets[index].1),
        "{what}: traffic key"
    );
    let option = header.options.authentication().unwrap();
    let ids = if from_client {
        (CLIENT_KEY_ID, SERVER_KEY_ID)
    } else {
        (SERVER_KEY_ID, CLIENT_KEY_ID)
    };
    assert_eq!((option.key_id, option.r_next_key_id), ids, "{what}");
    let code = key.code(&traffic_key, 0, &ip.endpoints, &segment).unwrap();
    assert_eq!(code, option.mac(), "{what}: code");
    assert!(key.verify(&traffic_key, 0, &ip.endpoints, &segment));
    assert!(
        !key.verify(&traffic_key, 1, &ip.endpoints, &segment),
        "{what}: SNE"
    );
    (ip.endpoints, segment)
}

#[test]
fn every_traffic_key_and_code_of_rfc_9235_comes_out() {
    for section in &SECTIONS {
        for index in 0..4 {
            check(section, index);
        }
    }
}

#[test]
fn whatever_bit_changes_the_code_does_not_fit_any_more_but_for_options_left_out() {
    for section in &SECTIONS {
        let (endpoints, segment) = check(section, 2);
        let place = authentication_place(&segment).unwrap();
        let key = MasterKey::new(CLIENT_KEY_ID, section.algorithm, SECRET)
            .covering_options(section.covers_options);
        let (header, _) = decode_header::<Bytes>(&segment).unwrap();
        let direction = Direction {
            tuple: FourTuple {
                endpoints,
                local_port: header.src_port,
                remote_port: header.dst_port,
            },
            sender_isn: SeqNumber::new(section.client_isn),
            receiver_isn: SeqNumber::new(section.server_isn),
        };
        let traffic_key = key.traffic_key(&direction);
        for at in 0..segment.len() {
            let mut harmed = segment.clone();
            harmed[at] ^= 0x10;
            let is_other_option = (FIXED_HEADER_LEN..place.start).contains(&at);
            let is_checksum = (16..18).contains(&at);
            // Kinds, lengths and the data offset decide where options stand.
            let is_structure = at == 12 || (FIXED_HEADER_LEN..FIXED_HEADER_LEN + 4).contains(&at);
            let fits = key.verify(&traffic_key, 0, &endpoints, &harmed);
            if is_checksum || (is_other_option && !section.covers_options && !is_structure) {
                assert!(fits, "{} octet {at}", section.name);
            } else if !is_structure {
                assert!(!fits, "{} octet {at}", section.name);
            }
        }
    }
}
